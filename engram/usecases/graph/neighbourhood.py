"""Search the graph around an entity or entry: related nodes, the paths to them, and the entries about them."""

from __future__ import annotations

from engram.domain.entry.refs import fold
from engram.domain.errors import AmbiguousError, NotFoundError, UsageError
from engram.domain.explore.tables import Table
from engram.domain.graph import graph_walk
from engram.domain.graph.entity import TYPES
from engram.domain.graph.graph import LORE, BuiltGraph, Edge, Graph, Node, entity_key, name_key
from engram.domain.graph.graph_drawing import format_way
from engram.domain.recall.ranking import weigh
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.graph.entities import list_entities
from engram.usecases.graph.graph_building import build_graph, rank_nodes
from engram.usecases.index.index_query import query_index
from engram.usecases.index.ranking_facts import standing
from engram.usecases.lookup.hits import hits_of
from engram.usecases.lookup.resolve import resolve
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.index.index import Generation
    from engram.domain.graph.graph_walk import Reached
    from engram.usecases.store.store import Store

MOST = 1000
_CANDIDATES = 200  # nearest entries considered, of which the best are shown


class Found(NamedTuple):
    """An entity or entry found: its node and the path to it, its importance, and the number of entries about it."""

    reached: Reached
    importance: float
    lore: int

    @property
    def name(self) -> str:
        """Its name."""
        return self.reached.node.name

    @property
    def way(self) -> str:
        """The path to it in words: `uses → Queue (since 2024-01-01), runs_on → ZooKeeper`; "" for the start."""
        return format_way(self.reached)


class AboutLore(NamedTuple):
    """An entry about entities found (`names`, nearest first); `score` combines nearness and standing."""

    id: str
    title: str
    category: str
    confidence: float
    names: tuple[str, ...]
    score: float


class Neighbourhood(NamedTuple):
    """The surroundings of an entity or entry (`start` is None: the whole graph), best first, with all edges between them.

    Around an entry, `entities` also has the entries linked with it, and `lore` is empty.
    """

    start: Node | None
    depth: int
    entities: tuple[Found, ...]
    lore: tuple[AboutLore, ...]
    edges: tuple[Edge, ...]
    truncated: bool

    def nodes(self) -> list[Node]:
        """Return its entities, then its entries, as nodes."""
        lore = [Node(one.id, LORE, one.title, one.category) for one in self.lore]
        return [found.reached.node for found in self.entities] + lore


def search_graph(
    store: Store,
    entity: str = "",
    depth: int = 1,
    *,
    types: Collection[str] = (),
    kinds: Collection[str] = (),
    limit: int | None = 20,
) -> Neighbourhood:
    """Find the entities within `depth` steps of one (by name, alias or slug), the paths to them, and the entries about them.

    If `entity` names no entity, it may name an entry as for `get`, and the nodes linked with that are found. If empty,
    all entities are found, most important first. `types` limits the types shown, `kinds` the relationships followed
    (`together`: an entry names both); `limit` applies to entities and entries separately (None: all).
    Raises NotFoundError, AmbiguousError, UsageError, StoreError.
    """
    if not 1 <= depth <= graph_walk.DEEPEST:
        raise UsageError(f"The depth {depth} is out of range.", f"Use 1 to {graph_walk.DEEPEST} steps.")
    unknown = [name for name in types if name not in TYPES]
    if unknown:
        raise UsageError(f"'{unknown[0][:80]}' is not an entity type.", f"Types: {', '.join(TYPES)}.")
    if limit is not None and not 1 <= limit <= MOST:
        raise UsageError(f"The limit {limit} is out of range.", f"Use 1 to {MOST}.")
    with store.lock:
        entities = list_entities(store)

        def search(generation: Generation, entry: Node | None = None) -> Neighbourhood:
            built = build_graph(store, generation, entities)
            graph, ranks = built.graph, rank_nodes(generation, built)
            if not entity:
                nodes = [graph_walk.Reached(node) for node in graph.entities()]
                return _neighbourhood(store, generation, graph, ranks, None, 0, nodes, types, limit)
            start = entry or find_node(built, entity)
            is_linked = start.key in graph.nodes
            reached = (
                graph_walk.walk(graph, start.key, depth, kinds) if is_linked else [graph_walk.Reached(start)]
            )
            return _neighbourhood(store, generation, graph, ranks, start, depth, reached, types, limit)

        try:
            return query_index(store, search)
        except NotFoundError as error:
            entry = _entry(store, entity, error)
            return query_index(store, lambda generation: search(generation, entry))


def _entry(store: Store, name: str, error: NotFoundError) -> Node:
    """Return the node of the entry that a name means. Raises AmbiguousError, and `error` if this store has none."""
    try:
        found = resolve(store, name)
    except NotFoundError:
        raise error from None
    if found.store is not store:
        raise error
    lore = entry_writer.load(store, found.path).lore
    return Node(lore.id, LORE, lore.title, lore.category)


def find_node(built: BuiltGraph, name: str) -> Node:
    """Find the node of an entity by name or key. Raises NotFoundError, AmbiguousError."""
    graph = built.graph
    if name in graph.nodes and graph.nodes[name].kind != LORE:
        return graph.nodes[name]
    slugs = (name,) if entity_key(name) in graph.nodes else built.meant.get(fold(name), ())
    if len(slugs) > 1:
        candidates = tuple((slug, graph.nodes[entity_key(slug)].name) for slug in slugs)
        raise AmbiguousError(
            f"'{name[:80]}' may mean several entities.", "Use the slug of one of them.", candidates
        )
    found = graph.nodes.get(entity_key(slugs[0]) if slugs else name_key(name))
    if found is None or found.kind == LORE:
        import difflib

        known = {fold(node.name): node.name for node in graph.entities()}
        near = [known[one] for one in difflib.get_close_matches(fold(name), known, 3, 0.6)]
        hint = f"Did you mean {' or '.join(near)}?" if near else "`engram graph` lists the entities."
        raise NotFoundError(f"Nothing here is called '{name[:80]}'.", hint)
    return found


def _neighbourhood(
    store: Store,
    generation: Generation,
    graph: Graph,
    ranks: Mapping[str, float],
    start: Node | None,
    depth: int,
    reached: Sequence[Reached],
    types: Collection[str],
    limit: int | None,
) -> Neighbourhood:
    """Select the best of the nodes reached, and the entries about them."""
    shown = [one for one in reached if not types or one.node.type in types or one.node == start]
    shown.sort(key=lambda one: (one.depth, -ranks.get(one.node.key, 0.0), one.node.name, one.node.key))
    entities = [
        Found(one, ranks.get(one.node.key, 0.0), len(graph.about.get(one.node.key, ())))
        for one in shown[:limit]
    ]
    is_lore = start is not None and start.kind == LORE
    lore = [] if is_lore else _lore(store, generation, graph, ranks, shown, limit)
    keys = {found.reached.node.key for found in entities} | {one.id for one in lore[:limit]}
    edges = tuple(edge for edge in graph.edges if edge.source in keys and edge.target in keys)
    truncated = limit is not None and (len(shown) > limit or len(lore) > limit)
    return Neighbourhood(start, depth, tuple(entities), tuple(lore[:limit]), edges, truncated)


def _lore(
    store: Store,
    generation: Generation,
    graph: Graph,
    ranks: Mapping[str, float],
    reached: Sequence[Reached],
    limit: int | None,
) -> list[AboutLore]:
    """Find the entries about these entities, ordered by nearness times standing."""
    near = graph_walk.nearness(graph, reached)
    nearest = sorted(near, key=lambda lore_id: (-near[lore_id], -ranks.get(lore_id, 0.0), lore_id))
    by_key = {one.node.key: one for one in reached}
    now = store.clock.now().timestamp()
    found = []
    candidates = nearest if limit is None else nearest[: max(_CANDIDATES, limit + 1)]
    for hit in credit.hits_in_effect(store, list(hits_of(generation, candidates).values())):
        score = near[hit.id] * weigh(standing(hit, ranks.get(hit.id)), now)
        names = graph_walk.names_in(graph, hit.id, by_key)
        confidence = hit.confidence / 1000
        found.append(AboutLore(hit.id, hit.title, hit.category, confidence, names, round(score, 4)))
    return sorted(found, key=lambda one: (-one.score, one.id))


def graph_tables(around: Neighbourhood) -> tuple[Table, Table]:
    """Return a neighbourhood as two tables: entities with the path to each, and entries."""
    entities = tuple(
        (
            found.name, found.reached.node.type, found.reached.depth, found.way,
            found.lore, found.importance,
        )
        for found in around.entities
    )  # fmt: skip
    lore = tuple(
        (one.id, one.category, one.confidence, one.title, ", ".join(one.names)) for one in around.lore
    )
    return (
        Table(
            "entities", ("entity", "type", "depth", "way", "lore", "importance"), entities, around.truncated
        ),
        Table("lore", ("id", "category", "confidence", "title", "about"), lore, around.truncated),
    )
