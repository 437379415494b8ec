"""The graph of a store: entities and entries as nodes, and how they refer to each other."""

from __future__ import annotations

from engram.domain.entry.refs import fold
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.domain.graph.entity import Entity

LORE, ENTITY, NAME = KINDS = ("lore", "entity", "name")
ABOUT, MENTIONS = "about", "mentions"
# Relations that count in the ranking; superseding or contradicting an entry adds no importance.
_RANKED_KINDS = frozenset({"see_also", "refines", "caused_by", MENTIONS})
_HALF_RANK = 4.0  # times the average rank, for an importance of 0.5


class Node(NamedTuple):
    """An entry (`key` is its id, `type` its category), an entity, or a name without an entity file (`type` is "")."""

    key: str
    kind: str
    name: str
    type: str


class Edge(NamedTuple):
    """A reference from one node to another.

    `kind` is a relationship of an entity (`uses`), `about`, `mentions` (a wiki link), or a relation of an entry
    (`refines`); `since` is the start date of a relationship ("": unknown).
    """

    source: str
    target: str
    kind: str
    since: str = ""


class Graph:
    """Nodes by key, edges, and the adjacency of each node, in the order of the edges.

    `about` has the entries that name each entity, `named` the entities that each entry names, with the kind of edge,
    `adjacent` the edges between nodes of one kind, at both ends: relationships of entities, relations of entries.
    """

    def __init__(self, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        """Drop edges to unknown nodes, duplicates and loops."""
        self.nodes = known = {node.key: node for node in nodes}
        valid = [edge for edge in edges if edge[0] in known and edge[1] in known and edge[0] != edge[1]]
        self.edges = tuple(dict.fromkeys(valid))
        self.about: dict[str, dict[str, None]] = {}
        self.named: dict[str, dict[str, str]] = {}
        self.adjacent: dict[str, list[Edge]] = {}
        for edge in self.edges:
            source, target = edge[0], edge[1]
            if known[source].kind == LORE and known[target].kind != LORE:
                self.about.setdefault(target, {})[source] = None
                self.named.setdefault(source, {}).setdefault(target, edge[2])
            else:
                self.adjacent.setdefault(source, []).append(edge)
                self.adjacent.setdefault(target, []).append(edge)

    def entities(self) -> list[Node]:
        """Return all nodes that are not entries, by key."""
        return sorted(node for node in self.nodes.values() if node.kind != LORE)


class Transitions(NamedTuple):
    """The transitions of a random walk over a graph: numbered nodes, and pairs of their numbers."""

    keys: tuple[str, ...]
    steps: tuple[tuple[int, int], ...]

    def digest(self) -> str:
        """Return a digest of the nodes and steps."""
        import hashlib
        from array import array
        from itertools import chain

        digest = hashlib.blake2b("\n".join(self.keys).encode(), digest_size=16)
        digest.update(array("Q", chain.from_iterable(self.steps)).tobytes())
        return digest.hexdigest()


def transitions(graph: Graph) -> Transitions:
    """Return the transitions from each node to those that it names, and from an entity to the entries about it."""
    keys, count = tuple(sorted(graph.nodes)), len(graph.nodes)
    number = {key: at for at, key in enumerate(keys)}
    numbers = set()  # one number per pair: ten times faster to sort
    for lore_id, entities in graph.named.items():
        entry = number[lore_id]
        for key in entities:
            entity = number[key]
            numbers.add(entry * count + entity)
            numbers.add(entity * count + entry)
    for edges in graph.adjacent.values():
        for edge in edges:
            if graph.nodes[edge.source].kind != LORE or edge.kind in _RANKED_KINDS:
                numbers.add(number[edge.source] * count + number[edge.target])
    return Transitions(keys, tuple([divmod(step, count) for step in sorted(numbers)]))


def importance(ranks: Sequence[float]) -> list[float]:
    """Scale ranks with a sum of 1 to importances of 0..1: the average rank becomes 0.2, four times the average 0.5."""
    relative = [rank * len(ranks) for rank in ranks]
    return [round(ratio / (ratio + _HALF_RANK), 3) for ratio in relative]


def entity_key(slug: str) -> str:
    """Return the key of an entity's node."""
    return f"{ENTITY}:{slug}"


def name_key(name: str) -> str:
    """Return the key of the node of a name without an entity file."""
    return f"{NAME}:{fold(name) or name.strip().lower()}"


def entity_nodes(entities: Iterable[Entity]) -> list[Node]:
    """Return the nodes of entities."""
    return [
        Node(entity_key(entity.slug), ENTITY, entity.name or entity.slug, entity.type) for entity in entities
    ]


class BuiltGraph(NamedTuple):
    """A graph with its sources: the entities, the slugs that each name may mean, and a stamp that changes with them.

    `ranks` caches the importance of the nodes by key.
    """

    graph: Graph
    meant: Mapping[str, tuple[str, ...]]
    entities: Sequence[Entity]
    stamp: str
    ranks: dict[str, float]
