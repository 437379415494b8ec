"""Walk a graph from an entity or entry: the nodes reached, the paths to them, and the entries about them."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from engram.domain.graph.graph import Graph, Node

TOGETHER = "together"
DEEPEST = 3
_STEP_DECAY = 0.5  # factor of nearness for each step
_RELATED_SHARE = 0.5  # of the nearness, for an entry that is only related to one about an entity


class Step(NamedTuple):
    """One step of a path: the node it leads to, its name, the relationship and its start; `back` if against its direction.

    `both`: the relationship exists in both directions. The kind `together` is not a relationship: `lore` counts the
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
    """An entity or entry, and the path to it from the start of the walk (empty for the start)."""

    node: Node
    way: tuple[Step, ...] = ()

    @property
    def depth(self) -> int:
        """The number of steps to it."""
        return len(self.way)


def walk(graph: Graph, start: str, depth: int, kinds: Collection[str] = ()) -> list[Reached]:
    """Find the nodes within `depth` steps, each by a shortest path, nearest first, beginning with the start.

    From an entry, these are entries and entities linked with it; from an entity, only entities. Among equally
    short paths, relationships precede `together`. `kinds` limits the steps followed (default: all).
    """
    found = {start: Reached(graph.nodes[start])}
    frontier = [start]
    for _ in range(depth):
        reached: dict[str, Reached] = {}
        for steps in (_relationships, _together):
            for key in frontier:
                for step in steps(graph, key):
                    if step.to not in found and step.to not in reached and (not kinds or step.kind in kinds):
                        reached[step.to] = Reached(graph.nodes[step.to], (*found[key].way, step))
        found |= reached
        frontier = list(reached)
    return list(found.values())


def _relationships(graph: Graph, key: str) -> Iterator[Step]:
    edges = graph.adjacent.get(key, ())
    directed = {(edge.source, edge.target, edge.kind) for edge in edges}
    for edge in edges:
        back = edge.target == key
        other = edge.source if back else edge.target
        both = (edge.target, edge.source, edge.kind) in directed
        yield Step(other, graph.nodes[other].name, edge.kind, edge.since, back, both=both)
    for other, kind in graph.named.get(key, {}).items():
        yield Step(other, graph.nodes[other].name, kind)


def _together(graph: Graph, key: str) -> Iterator[Step]:
    """Yield the entities that entries name together with this one, most frequent first."""
    counts: dict[str, int] = {}
    for lore_id in graph.about.get(key, ()):
        for other in graph.named[lore_id]:
            counts[other] = counts.get(other, 0) + 1
    counts.pop(key, None)
    for other, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        yield Step(other, graph.nodes[other].name, TOGETHER, lore=count)


def nearness(graph: Graph, reached: Collection[Reached]) -> dict[str, float]:
    """Compute the nearness of entries: the sum of ½ to the power of the depth over the entities that each names.

    An entry that names none of them, but is related to one that does, gets half of that entry's nearness.
    """
    near: dict[str, float] = {}
    for found in reached:
        value = _STEP_DECAY**found.depth
        for lore_id in graph.about.get(found.node.key, ()):
            near[lore_id] = near.get(lore_id, 0.0) + value
    related: dict[str, float] = {}
    for lore_id, value in near.items():
        for edge in graph.adjacent.get(lore_id, ()):
            other = edge.source if edge.target == lore_id else edge.target
            if other not in near:
                related[other] = max(related.get(other, 0.0), value * _RELATED_SHARE)
    return near | related


def names_in(graph: Graph, lore_id: str, reached: Mapping[str, Reached]) -> tuple[str, ...]:
    """Return the names of the reached entities that an entry names, nearest first."""
    named = [reached[key] for key in graph.named.get(lore_id, ()) if key in reached]
    return tuple(found.node.name for found in sorted(named, key=lambda found: (found.depth, found.node.name)))
