"""The graph of a store: entities and lore, and how they name each other."""

from __future__ import annotations

from engram.domain.refs import fold
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engram.domain.entity import Entity

LORE, ENTITY, NAME = KINDS = ("lore", "entity", "name")
ABOUT, MENTIONS = "about", "mentions"
SPEAKING = frozenset(
    {"see_also", "refines", "caused_by", MENTIONS}
)  # who replaces or denies a lore does not speak for it
_RELATIONSHIP = "relationship"
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


class Link(NamedTuple):
    """An edge as one of its ends sees it: the node at the other end, and whether that one is the source (`back`)."""

    other: str
    kind: str
    since: str
    back: bool


class Graph:
    """Nodes by key, edges, and each node's links, in the order of the edges."""

    def __init__(self, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        """Edges to what is no node are left out, and so are twins and those from a node to itself."""
        self.nodes = {node.key: node for node in nodes}
        known = self.nodes
        kept = (edge for edge in edges if edge.source in known and edge.target in known)
        self.edges = tuple(dict.fromkeys(edge for edge in kept if edge.source != edge.target))
        self.links: dict[str, list[Link]] = {}
        for edge in self.edges:
            self.links.setdefault(edge.source, []).append(Link(edge.target, edge.kind, edge.since, False))
            self.links.setdefault(edge.target, []).append(Link(edge.source, edge.kind, edge.since, True))

    def lore_about(self, key: str) -> list[str]:
        """The ids of the lore that name an entity, each once."""
        links = self.links.get(key, ())
        return list(dict.fromkeys(link.other for link in links if self.nodes[link.other].kind == LORE))

    def entities_of(self, lore_id: str) -> list[str]:
        """The keys of the entities that a lore names, each once."""
        links = self.links.get(lore_id, ())
        return list(dict.fromkeys(link.other for link in links if self.nodes[link.other].kind != LORE))

    def relationships(self, key: str) -> Iterator[Link]:
        """The typed links of an entity with other entities."""
        return (link for link in self.links.get(key, ()) if self.nodes[link.other].kind != LORE)

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

        said = hashlib.blake2b("\n".join(self.keys).encode(), digest_size=16)
        said.update("\n".join([f"{one} {other}" for one, other in self.steps]).encode())
        return said.hexdigest()


def ways(graph: Graph) -> Ways:
    """From each node to those that it names; from an entity also to the lore about it, which are as important as it makes them."""
    keys = tuple(sorted(graph.nodes))
    number = {key: at for at, key in enumerate(keys)}
    steps = []
    for edge in graph.edges:
        one, other = graph.nodes[edge.source], graph.nodes[edge.target]
        if one.kind == LORE and other.kind == LORE and edge.kind not in SPEAKING:
            continue
        steps.append((number[one.key], number[other.key]))
        if one.kind == LORE and other.kind != LORE:
            steps.append((number[other.key], number[one.key]))
    return Ways(keys, tuple(sorted(set(steps))))


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
