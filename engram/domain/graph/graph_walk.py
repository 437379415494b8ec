"""Walk over a graph from an entity or entry: what is reached, the ways there, and the entries about it."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from engram.domain.graph.graph import Graph, Node

TOGETHER = "together"
DEEPEST = 3
_FARTHER = 0.5  # nearness is multiplied by this for each step
_RELATED = 0.5  # for an entry that is only related to one about an entity


class Step(NamedTuple):
    """One step of a way: the node it leads to, its name, the relationship, since when; `back` if against its direction.

    `both`: the other is related to this one by the same kind. The kind `together` is not a relationship: `lore` counts the
    entries that name both.
    """

    to: str
    name: str
    kind: str
    since: str = ""
    back: bool = False
    lore: int = 0
    both: bool = False


class Reached(NamedTuple):
    """An entity or entry, and the way to it from the start of the walk (empty for the start)."""

    node: Node
    way: tuple[Step, ...] = ()

    @property
    def depth(self) -> int:
        """The number of steps to it."""
        return len(self.way)


def walk(graph: Graph, start: str, depth: int, kinds: Collection[str] = ()) -> list[Reached]:
    """Find what is within `depth` steps by a shortest way each, nearest first, beginning with the start.

    From an entry, that is the entries and entities that it is linked with; from an entity, entities alone. Of equally
    short ways, relationships precede `together`. `kinds` limits the steps followed (default: all).
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
    edges = graph.adjacent.get(key, ())
    ways = {(edge.source, edge.target, edge.kind) for edge in edges}
    for edge in edges:
        back = edge.target == key
        other = edge.source if back else edge.target
        both = (edge.target, edge.source, edge.kind) in ways
        yield Step(other, graph.nodes[other].name, edge.kind, edge.since, back, both=both)
    for other, kind in graph.named.get(key, {}).items():
        yield Step(other, graph.nodes[other].name, kind)


def _together(graph: Graph, key: str) -> Iterator[Step]:
    """Return the entities that entries name together with this one, most frequent first."""
    counts: dict[str, int] = {}
    for lore_id in graph.about.get(key, ()):
        for other in graph.named[lore_id]:
            counts[other] = counts.get(other, 0) + 1
    counts.pop(key, None)
    for other, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        yield Step(other, graph.nodes[other].name, TOGETHER, lore=count)


def nearness(graph: Graph, reached: Collection[Reached]) -> dict[str, float]:
    """Compute the nearness of entries: the sum of ½ to the power of the depth over the entities that each names.

    An entry that names none of them, but is related to one that does, gets half of its nearness.
    """
    near: dict[str, float] = {}
    for one in reached:
        much = _FARTHER**one.depth
        for lore_id in graph.about.get(one.node.key, ()):
            near[lore_id] = near.get(lore_id, 0.0) + much
    related: dict[str, float] = {}
    for lore_id, much in near.items():
        for edge in graph.adjacent.get(lore_id, ()):
            other = edge.source if edge.target == lore_id else edge.target
            if other not in near:
                related[other] = max(related.get(other, 0.0), much * _RELATED)
    return near | related


def names_in(graph: Graph, lore_id: str, reached: Mapping[str, Reached]) -> tuple[str, ...]:
    """Return the names of the reached entities that an entry names, nearest first."""
    named = [reached[key] for key in graph.named.get(lore_id, ()) if key in reached]
    return tuple(one.node.name for one in sorted(named, key=lambda one: (one.depth, one.node.name)))
