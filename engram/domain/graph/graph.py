"""The graph of a store: entities and lore, and how they name each other."""

from __future__ import annotations

from engram.domain.entry.refs import fold
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.domain.graph.entity import Entity

LORE, ENTITY, NAME = KINDS = ("lore", "entity", "name")
ABOUT, MENTIONS = "about", "mentions"
SPEAKING = frozenset(
    {"see_also", "refines", "caused_by", MENTIONS}
)  # who replaces or denies a lore does not speak for it
_HALF = 4.0  # so many times the average rank are an importance of 0.5


class Node(NamedTuple):
    """A lore (`key` is its id, `type` its category), an entity, or a name that no entity file has (`type` is "")."""

    key: str
    kind: str
    name: str
    type: str


class Edge(NamedTuple):
    """That one node names another. `kind` is a relationship of an entity (`uses`), `about`, `mentions` (a wiki link), or a
    relation of lore (`refines`); `since` when a relationship began ("": not said)."""

    source: str
    target: str
    kind: str
    since: str = ""


class Graph:
    """Nodes by key and edges, and what each node is beside.

    `about` has the lore that name each entity, `named` the entities that each lore names, `beside` the edges between
    nodes of one sort: relationships at both their entities, relations at both their lore. All in the order of the edges.
    """

    def __init__(self, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        """Edges to what is no node are left out, and so are twins and those from a node to itself."""
        self.nodes = known = {node.key: node for node in nodes}
        kept = [edge for edge in edges if edge[0] in known and edge[1] in known and edge[0] != edge[1]]
        self.edges = tuple(dict.fromkeys(kept))
        self.about: dict[str, dict[str, None]] = {}
        self.named: dict[str, dict[str, None]] = {}
        self.beside: dict[str, list[Edge]] = {}
        for edge in self.edges:
            source, target = edge[0], edge[1]
            if known[source].kind == LORE and known[target].kind != LORE:
                self.about.setdefault(target, {})[source] = None
                self.named.setdefault(source, {})[target] = None
            else:
                self.beside.setdefault(source, []).append(edge)
                self.beside.setdefault(target, []).append(edge)

    def entities(self) -> list[Node]:
        """All that is no lore, by key."""
        return sorted(node for node in self.nodes.values() if node.kind != LORE)


class Ways(NamedTuple):
    """Where a chance walk over a graph may go: the nodes by number, and from which to which."""

    keys: tuple[str, ...]
    steps: tuple[tuple[int, int], ...]

    def digest(self) -> str:
        """A text that is another one for other ways."""
        import hashlib
        from array import array
        from itertools import chain

        said = hashlib.blake2b("\n".join(self.keys).encode(), digest_size=16)
        said.update(array("Q", chain.from_iterable(self.steps)).tobytes())
        return said.hexdigest()


def ways(graph: Graph) -> Ways:
    """From each node to those that it names; from an entity also to the lore about it, which are as important as it makes them."""
    keys, many = tuple(sorted(graph.nodes)), len(graph.nodes)
    number = {key: at for at, key in enumerate(keys)}
    found = set()  # as numbers: these are sorted in a tenth of the time of pairs
    for lore_id, entities in graph.named.items():
        one = number[lore_id]
        for key in entities:
            other = number[key]
            found.add(one * many + other)
            found.add(other * many + one)
    for edges in graph.beside.values():
        for edge in edges:
            if graph.nodes[edge.source].kind != LORE or edge.kind in SPEAKING:
                found.add(number[edge.source] * many + number[edge.target])
    return Ways(keys, tuple([divmod(step, many) for step in sorted(found)]))


def importance(ranks: Sequence[float]) -> list[float]:
    """From ranks that sum to 1 to 0..1 each: 0.2 is average, 0.5 four times that; what is 0.0005 is told as nothing less."""
    relative = [rank * len(ranks) for rank in ranks]
    return [round(much / (much + _HALF), 3) for much in relative]


def entity_key(slug: str) -> str:
    """The key of an entity's node."""
    return f"{ENTITY}:{slug}"


def name_key(name: str) -> str:
    """The key of the node of a name that no entity file has."""
    return f"{NAME}:{fold(name) or name.strip().lower()}"


def entity_nodes(entities: Iterable[Entity]) -> list[Node]:
    """The nodes of entities."""
    return [
        Node(entity_key(entity.slug), ENTITY, entity.name or entity.slug, entity.type) for entity in entities
    ]
