"""A store's graph with what it was made from, kept until one of both changes."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.graph.entity import Entity
    from engram.domain.graph.graph import Graph


class Drawn(NamedTuple):
    """A graph, what the names of entities may mean in it, the entities and the stamp of what it was made from.

    The stamp is another one wherever the graph may be another one. `ranks` has the importance of its nodes once that
    was asked for.
    """

    graph: Graph
    meant: Mapping[str, tuple[str, ...]]
    entities: Sequence[Entity]
    stamp: str
    ranks: dict[str, float]
