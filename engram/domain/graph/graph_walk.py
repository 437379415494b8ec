"""Walking over a graph from one entity: who is reached, in how many steps, by which way, and the lore about them."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from engram.domain.graph.graph import Graph, Node

TOGETHER = "together"
DEEPEST = 3
_FARTHER = 0.5  # what each step takes from how near something is
_RELATED = 0.5  # a lore that is related to one about an entity, and not about any itself


class Step(NamedTuple):
    """One step of a way: to which node (and its name), by which relationship, since when; `back` against its direction.

    The kind `together` is no relationship: `lore` of them name both.
    """

    to: str
    name: str
    kind: str
    since: str = ""
    back: bool = False
    lore: int = 0


class Reached(NamedTuple):
    """An entity and the way to it from where the walk began (empty: it began here)."""

    node: Node
    way: tuple[Step, ...] = ()

    @property
    def depth(self) -> int:
        """How many steps away it is."""
        return len(self.way)


def walk(graph: Graph, start: str, depth: int, kinds: Collection[str] = ()) -> list[Reached]:
    """The entities within `depth` steps, the nearest first and the start the first of all, each by a shortest way.

    Of ways that are as short a relationship goes before lore that name both. `kinds` are those that may be gone (all).
    """
    found = {start: Reached(graph.nodes[start])}
    edge = [start]
    for _ in range(depth):
        reached: dict[str, Reached] = {}
        for steps in (_relationships, _together):
            for key in edge:
                for step in steps(graph, key):
                    if step.to not in found and step.to not in reached and (not kinds or step.kind in kinds):
                        reached[step.to] = Reached(graph.nodes[step.to], (*found[key].way, step))
        found |= reached
        edge = list(reached)
    return list(found.values())


def _relationships(graph: Graph, key: str) -> Iterator[Step]:
    for edge in graph.beside.get(key, ()):
        back = edge.target == key
        other = edge.source if back else edge.target
        yield Step(other, graph.nodes[other].name, edge.kind, edge.since, back)


def _together(graph: Graph, key: str) -> Iterator[Step]:
    """The entities that lore name with this one, those first that most of them name."""
    counts: dict[str, int] = {}
    for lore_id in graph.about.get(key, ()):
        for other in graph.named[lore_id]:
            counts[other] = counts.get(other, 0) + 1
    counts.pop(key, None)
    for other, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        yield Step(other, graph.nodes[other].name, TOGETHER, lore=count)


def nearness(graph: Graph, reached: Collection[Reached]) -> dict[str, float]:
    """How near each lore is: the sum over the entities that it names of ½ to the power of their depth.

    A lore that names none of them but is related to one of these counts half of it.
    """
    near: dict[str, float] = {}
    for one in reached:
        much = _FARTHER**one.depth
        for lore_id in graph.about.get(one.node.key, ()):
            near[lore_id] = near.get(lore_id, 0.0) + much
    related: dict[str, float] = {}
    for lore_id, much in near.items():
        for edge in graph.beside.get(lore_id, ()):
            other = edge.source if edge.target == lore_id else edge.target
            if other not in near:
                related[other] = max(related.get(other, 0.0), much * _RELATED)
    return near | related


def named_by(graph: Graph, lore_id: str, reached: Mapping[str, Reached]) -> tuple[str, ...]:
    """The names of those of the reached entities that a lore names, the nearest first."""
    named = [reached[key] for key in graph.named.get(lore_id, ()) if key in reached]
    return tuple(one.node.name for one in sorted(named, key=lambda one: (one.depth, one.node.name)))
