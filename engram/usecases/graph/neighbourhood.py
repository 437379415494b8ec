"""The graph of a store: who and what its lore are about, how these are related, and walking over it from one of them."""

from __future__ import annotations

from engram.domain.entry.refs import fold
from engram.domain.errors import AmbiguousError, NotFoundError, UsageError
from engram.domain.explore.tables import Table
from engram.domain.graph import graph_walk
from engram.domain.graph.entity import TYPES
from engram.domain.graph.graph import LORE, Node, entity_key, name_key
from engram.domain.graph.graph_drawing import way_said
from engram.domain.recall.ranking import weigh
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.graph.entities import all_entities
from engram.usecases.graph.graph_building import drawn
from engram.usecases.graph.importance import importance_in
from engram.usecases.index.index_query import consult
from engram.usecases.index.standing import standing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.index.generation import Generation
    from engram.domain.graph.drawn_graph import Drawn
    from engram.domain.graph.graph import Edge, Graph
    from engram.domain.graph.graph_walk import Reached
    from engram.usecases.store.store import Store

MOST = 1000
_LORE_WEIGHED = 200  # of the nearest lore so many are looked at to find the best


class Found(NamedTuple):
    """An entity of an answer: what it is, how important, how many lore are about it, and the way to it."""

    reached: Reached
    importance: float
    lore: int

    @property
    def name(self) -> str:
        """What it is called."""
        return self.reached.node.name

    @property
    def way(self) -> str:
        """The way to it in words: `uses → Queue (since 2024-01-01), runs_on → ZooKeeper`; "" for the start."""
        return way_said(self.reached)


class AboutLore(NamedTuple):
    """A lore about entities of an answer, whose names are `names`, the nearest first; `score` is how near and good it is."""

    id: str
    title: str
    category: str
    confidence: float
    names: tuple[str, ...]
    score: float


class Neighbourhood(NamedTuple):
    """What is around an entity (or all, where none was named: `start` is None), the best first, and all edges among it."""

    start: Node | None
    depth: int
    entities: tuple[Found, ...]
    lore: tuple[AboutLore, ...]
    edges: tuple[Edge, ...]
    truncated: bool

    def nodes(self) -> list[Node]:
        """Its entities, then its lore."""
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
    """The entities within `depth` steps of one (by name, alias or slug), how they are reached, and the lore about them.

    Without `entity` all, the most important first. `types` are those that are shown, `kinds` the relationships that may
    be gone (`together`: lore that name both); `limit` counts entities and lore each (None: all).
    Raises NotFoundError, AmbiguousError, UsageError, StoreError.
    """
    if not 1 <= depth <= graph_walk.DEEPEST:
        raise UsageError(f"There is no depth {depth}.", f"From 1 to {graph_walk.DEEPEST} steps.")
    unknown = [name for name in types if name not in TYPES]
    if unknown:
        raise UsageError(f"There is no type of entity '{unknown[0][:80]}'.", f"Types: {', '.join(TYPES)}.")
    if limit is not None and not 1 <= limit <= MOST:
        raise UsageError(f"{limit} cannot be shown.", f"The limit is from 1 to {MOST}.")
    with store.lock:
        entities = all_entities(store)

        def look(generation: Generation) -> Neighbourhood:
            found = drawn(store, generation, entities)
            graph, ranks = found.graph, importance_in(generation, found)
            if not entity:
                every = [graph_walk.Reached(node) for node in graph.entities()]
                return _neighbourhood(store, generation, graph, ranks, None, 0, every, types, limit)
            start = node_named(found, entity)
            reached = graph_walk.walk(graph, start.key, depth, kinds)
            return _neighbourhood(store, generation, graph, ranks, start, depth, reached, types, limit)

        return consult(store, look)


def node_named(drawn: Drawn, name: str) -> Node:
    """The entity that a name (or its key) means. Raises NotFoundError, AmbiguousError."""
    graph = drawn.graph
    if name in graph.nodes and graph.nodes[name].kind != LORE:
        return graph.nodes[name]
    slugs = (name,) if entity_key(name) in graph.nodes else drawn.meant.get(fold(name), ())
    if len(slugs) > 1:
        candidates = tuple((slug, graph.nodes[entity_key(slug)].name) for slug in slugs)
        raise AmbiguousError(
            f"'{name[:80]}' may be several entities.", "Name one of them by its slug.", candidates
        )
    found = graph.nodes.get(entity_key(slugs[0]) if slugs else name_key(name))
    if found is None or found.kind == LORE:
        import difflib

        known = {fold(node.name): node.name for node in graph.entities()}
        near = [known[one] for one in difflib.get_close_matches(fold(name), known, 3, 0.6)]
        hint = f"Did you mean {' or '.join(near)}?" if near else "`engram graph` lists what lore are about."
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
    """The best of what was reached."""
    shown = [one for one in reached if not types or one.node.type in types or one.node == start]
    shown.sort(key=lambda one: (one.depth, -ranks.get(one.node.key, 0.0), one.node.name, one.node.key))
    entities = [
        Found(one, ranks.get(one.node.key, 0.0), len(graph.about.get(one.node.key, ())))
        for one in shown[:limit]
    ]
    lore = _lore(store, generation, graph, ranks, shown, limit)
    keys = {found.reached.node.key for found in entities} | {one.id for one in lore[:limit]}
    edges = tuple(edge for edge in graph.edges if edge.source in keys and edge.target in keys)
    more = limit is not None and (len(shown) > limit or len(lore) > limit)
    return Neighbourhood(start, depth, tuple(entities), tuple(lore[:limit]), edges, more)


def _lore(
    store: Store,
    generation: Generation,
    graph: Graph,
    ranks: Mapping[str, float],
    reached: Sequence[Reached],
    limit: int | None,
) -> list[AboutLore]:
    """The lore about these entities, the best first: how near they are times how well they stand."""
    near = graph_walk.nearness(graph, reached)
    nearest = sorted(near, key=lambda lore_id: (-near[lore_id], -ranks.get(lore_id, 0.0), lore_id))
    by_key = {one.node.key: one for one in reached}
    now = store.clock.now().timestamp()
    found = []
    wanted = nearest if limit is None else nearest[: max(_LORE_WEIGHED, limit + 1)]
    for start in range(0, len(wanted), 500):
        part = wanted[start : start + 500]
        hits = generation.catalog.select(f"id IN ({','.join('?' * len(part))})", part)
        for hit in credit.hits_in_effect(store, hits):
            score = near[hit.id] * weigh(standing(hit, ranks.get(hit.id)), now)
            named = graph_walk.named_by(graph, hit.id, by_key)
            confidence = hit.confidence / 1000
            found.append(AboutLore(hit.id, hit.title, hit.category, confidence, named, round(score, 4)))
    return sorted(found, key=lambda one: (-one.score, one.id))


def graph_tables(around: Neighbourhood) -> tuple[Table, Table]:
    """A neighbourhood as two tables: entities with the way to each, and lore."""
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
