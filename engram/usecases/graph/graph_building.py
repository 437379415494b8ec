"""Making the graph of a store from its catalog and its entities, and knowing cheaply whether it is another one."""

from __future__ import annotations

from engram.adapters.index import graph_rows
from engram.domain.entry.refs import fold
from engram.domain.graph import graph as graphs
from engram.domain.graph.drawn_graph import Drawn
from engram.domain.graph.entity import by_name
from engram.domain.graph.graph import ABOUT, LORE, MENTIONS, NAME, Edge, Graph, Node, entity_key, name_key
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.graph.entities import all_entities
from engram.usecases.index.catch_up import no_collections
from engram.usecases.index.index_query import consult
from engram.usecases.store.quarantine import quarantined_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.adapters.index.generation import Generation
    from engram.adapters.index.graph_rows import LoreRow
    from engram.domain.graph.entity import Entity
    from engram.usecases.store.store import Store


def graph_of(store: Store) -> Graph:
    """The graph of the lore that can be recalled now. Raises StoreError."""
    with store.lock:
        entities = all_entities(store)
        return consult(store, lambda generation: drawn(store, generation, entities).graph)


def drawn(store: Store, generation: Generation, entities: Sequence[Entity]) -> Drawn:
    """The graph; the one of last time where nothing changed that it is made from. Call it holding the store's lock."""
    stamp = stamp_of(store, generation, entities)
    before = store.drawn
    if before is None or before.stamp != stamp:
        with no_collections():
            names = _Names(entities)
            store.drawn = before = Drawn(
                _graph(store, generation, entities, names), names.meant, entities, stamp, {}
            )
    return before


def stamp_of(store: Store, generation: Generation, entities: Sequence[Entity]) -> str:
    """A text that is another one after each change of lore or entities, when a lore expires, and when one is let in."""
    import zlib

    now = store.clock.now().timestamp()
    lore = generation.catalog.sum_of_lines()
    expired = generation.catalog.count("expires_at <= ?", [now])
    held = zlib.crc32(repr(sorted(quarantined_texts(store))).encode())
    before = store.drawn
    if (
        before is not None and before.entities is entities
    ):  # they are told apart only where they were read again
        said = before.stamp.rpartition(" ")[2]
    else:
        said = str(zlib.crc32("\0".join([part for entity in entities for part in _parts(entity)]).encode()))
    return f"{lore} {expired} {held} {said}"


def _parts(entity: Entity) -> list[str]:
    """What of an entity the graph shows."""
    links = [part for link in entity.relationships for part in link]
    return [entity.slug, entity.name, entity.type, *entity.aliases, "\1", *links, "\2"]


def _graph(store: Store, generation: Generation, entities: Sequence[Entity], names: _Names) -> Graph:
    mentions = graph_rows.mentions(generation.catalog)
    if any(not names.slug_key(name) for _, name in mentions):
        lore = _free(store, graph_rows.all_lore(generation.catalog, store.clock.now().timestamp()))
        names.know_lore(lore)
    else:  # without links to lore those alone matter that name something
        lore = _free(store, graph_rows.naming_lore(generation.catalog, store.clock.now().timestamp()))
    edges = [*_entity_edges(entities, names), *_lore_edges(generation, lore, names)]
    edges += _mentioned(mentions, lore, names)
    linked = {edge.source for edge in edges} | {edge.target for edge in edges}
    nodes = [Node(one.id, LORE, one.title, one.category) for one in lore if one.id in linked]
    return Graph([*graphs.entity_nodes(entities), *names.plain.values(), *nodes], edges)


def _free(store: Store, lore: Iterable[LoreRow]) -> list[LoreRow]:
    """Those that do not wait for a person."""
    held = quarantined_texts(store)
    return [one for one in lore if one.id not in held or one.text_digest not in (held[one.id] or ())]


def _entity_edges(entities: Sequence[Entity], names: _Names) -> list[Edge]:
    return [
        Edge(entity_key(entity.slug), names.entity(link.to), link.kind, link.since)
        for entity in entities
        for link in entity.relationships
    ]


def _lore_edges(generation: Generation, lore: Sequence[LoreRow], names: _Names) -> list[Edge]:
    """To the entities that lore name, and to each other."""
    ids = {one.row: one.id for one in lore}
    edges = [
        Edge(ids[row], names.entity(name), ABOUT)
        for row, name in graph_rows.names(generation.catalog)
        if row in ids
    ]
    known = set(ids.values())
    for row, kind, other in graph_rows.relations(generation.catalog):
        if row in ids and other in known:
            edges.append(Edge(ids[row], other, kind))
    return edges


def _mentioned(mentions: Sequence[tuple[int, str]], lore: Sequence[LoreRow], names: _Names) -> list[Edge]:
    ids = {one.row: one.id for one in lore}
    return [Edge(ids[row], names.anything(name), MENTIONS) for row, name in mentions if row in ids]


class _Names:
    """What names lead to. A name that no file has is a node of its own, and so is one that several have."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        self._slugs = {entity.slug for entity in entities}
        self.meant = by_name(entities)
        self._lore: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self.plain: dict[str, Node] = {}

    def know_lore(self, lore: Iterable[LoreRow]) -> None:
        """From now on a name may also lead to a lore: by its id, title or file name, if only one is called so."""
        called: dict[str, set[str]] = {}
        for one in lore:
            self._lore[one.id] = one.id
            for name in (one.title, one.path.rpartition("/")[2].removesuffix(".md")):
                called.setdefault(fold(name), set()).add(one.id)
        self._lore |= {name: next(iter(ids)) for name, ids in called.items() if len(ids) == 1}

    def entity(self, name: str) -> str:
        """The key of the entity of that slug, name or alias."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self.slug_key(name) or self._plain(name)
        return found

    def anything(self, name: str) -> str:
        """The key of what a wiki link leads to: an entity, else a lore."""
        found = self.slug_key(name) or self._lore.get(name.upper()) or self._lore.get(fold(name))
        return found or self.entity(name)

    def slug_key(self, name: str) -> str:
        """The key of the entity that has a file and that slug, name or alias; "" where there is none, or several."""
        if name in self._slugs:
            return entity_key(name)
        slugs = self.meant.get(fold(name), ())
        return entity_key(slugs[0]) if len(slugs) == 1 else ""

    def _plain(self, name: str) -> str:
        key = name_key(name)
        before = self.plain.get(key)
        if before is None or name < before.name:  # of several spellings always the same
            self.plain[key] = Node(key, NAME, name, "")
        return key
