"""Build the graph of a store from its catalog and entities, rank its nodes, and detect cheaply whether it changed."""

from __future__ import annotations

from engram.adapters.index import graph_rows
from engram.adapters.index.graph_ranks import RankedGraph, ranked_graph
from engram.domain.entry.note_markup import Named, follow_link, targets
from engram.domain.entry.refs import fold
from engram.domain.graph import graph as graphs
from engram.domain.graph.entity import Entity, by_name
from engram.domain.graph.graph import (
    ABOUT,
    LORE,
    MENTIONS,
    NAME,
    BuiltGraph,
    Edge,
    Graph,
    Node,
    entity_key,
    importance,
    name_key,
    transitions,
)
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.graph.entities import list_entities
from engram.usecases.index.index_query import query_index
from engram.usecases.store.gc_pause import no_collections
from engram.usecases.store.quarantine import quarantined_texts, without_quarantined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.index.graph_rows import LoreRow
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store


def graph_of(store: Store) -> Graph:
    """Return the graph of the entries that can be recalled now. Raises StoreError."""
    with store.lock:
        entities = list_entities(store)
        return query_index(store, lambda generation: build_graph(store, generation, entities).graph)


def build_graph(store: Store, generation: Generation, entities: Sequence[Entity]) -> BuiltGraph:
    """Build the graph, or return the last one if its sources are unchanged. Hold the store's lock."""
    stamp = stamp_of(store, generation, entities)
    built = store.built_graph
    if built is None or built.stamp != stamp:
        with no_collections():
            names = _Names(entities)
            store.built_graph = built = BuiltGraph(
                _graph(store, generation, entities, names), names.slugs_by_name, entities, stamp, {}
            )
    return built


def stamp_of(store: Store, generation: Generation, entities: Sequence[Entity]) -> str:
    """Return a stamp that changes with entries or entities, when an entry expires, and when one leaves quarantine."""
    import zlib

    now = store.clock.now().timestamp()
    lore = generation.catalog.sum_of_lines()
    expired = generation.catalog.count("expires_at <= ?", [now])
    quarantined = zlib.crc32(repr(sorted(quarantined_texts(store))).encode())
    before = store.built_graph
    if before is not None and before.entities is entities:  # the same tuple until a file is read again
        checksum = before.stamp.rpartition(" ")[2]
    else:
        parts = [part for entity in entities for part in _parts(entity)]
        checksum = str(zlib.crc32("\0".join(parts).encode()))
    return f"{lore} {expired} {quarantined} {checksum}"


def _parts(entity: Entity) -> list[str]:
    """Return the fields of an entity that the graph uses."""
    links = [part for link in entity.relationships for part in link]
    return [entity.slug, entity.name, entity.type, *entity.aliases, "\1", *links, "\2"]


def _graph(store: Store, generation: Generation, entities: Sequence[Entity], names: _Names) -> Graph:
    catalog, now = generation.catalog, store.clock.now().timestamp()
    mentions = graph_rows.mentions(catalog)
    if any(not names.slug_key(name) for _, name in mentions):
        lore = without_quarantined(store, graph_rows.all_lore(catalog, now))
        names.add_entries(lore, graph_rows.own_names(catalog), in_place=not store.places.folder)
    else:  # no mention leads to an entry: only entries that name an entity matter
        lore = without_quarantined(store, graph_rows.naming_lore(catalog, now))
    edges = [*_entity_edges(entities, names), *_lore_edges(generation, lore, names)]
    edges += _mention_edges(mentions, lore, names)
    linked = {edge.source for edge in edges} | {edge.target for edge in edges}
    nodes = [Node(one.id, LORE, one.title, one.category) for one in lore if one.id in linked]
    return Graph([*graphs.entity_nodes(entities), *names.unresolved.values(), *nodes], edges)


def _entity_edges(entities: Sequence[Entity], names: _Names) -> list[Edge]:
    return [
        Edge(entity_key(entity.slug), names.entity(link.to), link.kind, link.since)
        for entity in entities
        for link in entity.relationships
    ]


def _lore_edges(generation: Generation, lore: Sequence[LoreRow], names: _Names) -> list[Edge]:
    """Return the edges from entries to the entities they name, and between entries."""
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


def _mention_edges(mentions: Sequence[tuple[int, str]], lore: Sequence[LoreRow], names: _Names) -> list[Edge]:
    ids = {one.row: one.id for one in lore}
    return [Edge(ids[row], names.link_target(name), MENTIONS) for row, name in mentions if row in ids]


class _Names:
    """Resolve names to the keys of nodes; an unknown or ambiguous name gets a node of its own."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        self._slugs = {entity.slug for entity in entities}
        self.slugs_by_name = by_name(entities)
        self._entries: dict[str, str] = {}
        self._cache: dict[str, str] = {}
        self.unresolved: dict[str, Node] = {}

    def add_entries(
        self, lore: Sequence[LoreRow], aliases: Mapping[int, tuple[str, ...]], *, in_place: bool
    ) -> None:
        """Resolve names to entries, too: by id, title, file name or alias (by row), if unambiguous."""
        self._entries = {one.id: one.id for one in lore}
        notes = [Named(one.id, one.path, one.title, aliases.get(one.row, ())) for one in lore]
        self._entries |= {
            name: ids[0] for name, ids in targets(notes, in_place=in_place).items() if len(ids) == 1
        }

    def entity(self, name: str) -> str:
        """Return the key of the node for the entity with that slug, name or alias."""
        found = self._cache.get(name)
        if found is None:
            found = self._cache[name] = self.slug_key(name) or self._unresolved_key(name)
        return found

    def link_target(self, name: str) -> str:
        """Return the key of the target of a wiki link: an entity, else an entry."""
        found = self.slug_key(name) or self._entries.get(name.upper()) or follow_link(self._entries, name)
        return found or self.entity(name.rpartition("|")[2])

    def slug_key(self, name: str) -> str:
        """Return the key of the entity with that slug, name or alias; "" if there is none or more than one."""
        if name in self._slugs:
            return entity_key(name)
        slugs = self.slugs_by_name.get(fold(name), ())
        return entity_key(slugs[0]) if len(slugs) == 1 else ""

    def _unresolved_key(self, name: str) -> str:
        key = name_key(name)
        before = self.unresolved.get(key)
        if before is None or name < before.name:  # of several spellings, show the first in order
            self.unresolved[key] = Node(key, NAME, name, "")
        return key


def refresh_importance(store: Store) -> bool:
    """Recompute the importance of entities and entries if the graph changed; returns whether it did.

    If no entry or entity changed, only a stamp is compared; an unchanged graph is not ranked again. Raises StoreError.
    """
    with store.lock:
        entities = list_entities(store)

        def rank_if_changed(generation: Generation) -> bool:
            before = ranked_graph(generation.catalog)
            if before.stamp == stamp_of(store, generation, entities):
                return False
            built = build_graph(store, generation, entities)
            rank_nodes(generation, built)
            return bool(built.graph.edges) and ranked_graph(generation.catalog).digest != before.digest

        return query_index(store, rank_if_changed)


def rank_nodes(generation: Generation, built: BuiltGraph) -> Mapping[str, float]:
    """Return the importance of every node, 0..1, by key: as stored, else computed, and then stored if possible."""
    stored = ranked_graph(generation.catalog)
    if stored.stamp == built.stamp:
        if not built.ranks:
            built.ranks.update(generation.ranks())
        return built.ranks
    walk = transitions(built.graph)
    current = RankedGraph(built.stamp, walk.digest())
    if stored.digest == current.digest:
        generation.save_ranks(current, None)
        built.ranks.update(generation.ranks())
        return built.ranks
    from engram.adapters.graph.pagerank import pagerank

    ranks = importance(pagerank(len(walk.keys), walk.steps))
    built.ranks.update(zip(walk.keys, ranks, strict=True))
    generation.save_ranks(current, built.ranks)
    return built.ranks
