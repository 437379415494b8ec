"""Finding and ranking candidates: words and vectors from the index, or a plain scan of the files without it."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files import scan as walk
from engram.adapters.files.frontmatter import codec
from engram.adapters.index.damage import damage_noticed
from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.errors import EngramError
from engram.domain.recall import ranking
from engram.domain.recall.ranking import Score, Standing, Weights
from engram.domain.scopes import past_retention
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.index.standing import standing
from engram.usecases.recall.relevance import Relevance
from engram.usecases.store import quarantine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.cosines import Cosines
    from engram.adapters.index.generation import Generation
    from engram.adapters.index.words import WordHits
    from engram.usecases.recall.rerank import Asked, Closer, Neighbours
    from engram.usecases.store.store import Store

    Look = Callable[[Asked, Generation, Neighbours, Sequence[int]], Mapping[int, Closer]]
    Order = Callable[[WordHits, Cosines | None, set[int] | None, float], Relevance]

FEW = 10
POOL = 48
WORD_POOL = 100
_NOT_LOOKED = (None, None)


class Filters(NamedTuple):
    """What a lore must fulfil to be recalled. `min_confidence` in thousandths; `files` are a preference, no filter.

    What is past its retention at `horizon` (Unix seconds, 0: never) is left out. `held` are the digests, by lore id,
    of texts that wait for a person; None stands for every text of that lore. The lore with the id `admitted` passes
    all of this: to see what letting it in would do. `agents` are those that recorded it, `since` and `until` (Unix
    seconds, until itself not included) limit when that was. `among` are the only rows that are looked at (None: all).
    """

    min_confidence: int
    categories: tuple[str, ...]
    types: tuple[str, ...]
    tags: tuple[str, ...]
    files: tuple[str, ...]
    horizon: float = 0.0
    held: Mapping[str, Collection[str] | None] = {}
    admitted: str = ""
    among: frozenset[int] | None = None
    agents: tuple[str, ...] = ()
    since: float = float("-inf")
    until: float = float("inf")


class Candidate(NamedTuple):
    """A lore that may be shown: its path, stamp (mtime ns, bytes, inode), id and score."""

    path: str
    stamp: tuple[int, int, int]
    id: str
    score: Score


def indexed(
    store: Store,
    generation: Generation,
    text: str,
    filters: Filters,
    limit: int,
    *,
    meaning: bool,
    order: Order = Relevance,
    look: Look | None = None,
) -> list[Candidate]:
    """Candidates from the index, best first, all of them fulfilling the filters. Raises DamagedIndexError.

    `order` puts all rows in order, `look` takes the second look: for who has a memory of either.
    """
    with damage_noticed():
        allowed = _allowed_rows(generation, filters)
        words = generation.words
        terms = words.terms(text)
        weights = ranking.weights_of(store.settings)
        embedder = store.embedder if meaning else None
        cosines = _cosines(embedder, generation, text) if embedder else None
        every = generation.next_row
        # Once more with every word hit where the filters leave too few of the best ones.
        for most in (WORD_POOL, every) if allowed is None and every > WORD_POOL else (every,):
            found = words.search(terms, most)
            ranked = order(found, cosines, allowed, weights.words)
            asked = None
            if cosines is not None and embedder is not None:
                from engram.usecases.recall.rerank import Asked  # words alone do without

                asked = Asked(embedder, words, text, found)
            candidates = _best(store, generation, ranked, asked, filters, limit, weights, look)
            if len(candidates) >= limit or len(found.scores) < most:
                break
        return candidates


def _best(
    store: Store,
    generation: Generation,
    ranked: Relevance,
    asked: Asked | None,
    filters: Filters,
    limit: int,
    weights: Weights,
    look: Look | None,
) -> list[Candidate]:
    """The best candidates of the best rows, and of their neighbours; of more rows where the filters leave too few."""
    largest = 1 + ranking.PATH_GAIN * bool(filters.files)
    pool = max(
        POOL if generation.has_links else FEW,
        2 * limit,
        ranked.rivals(limit, (1 - weights.standing) / largest, POOL),
    )
    while True:
        rows = ranked.best(pool)
        enough = len(rows) < pool
        near: Neighbours = {}
        if asked is not None:
            rows, near = _with_neighbours(generation, rows)
        now = store.clock.now().timestamp()
        found = credit.hits_in_effect(store, generation.catalog.hits(rows))
        hits = [hit for hit in found if _passes(hit, filters, now)]
        closer: Mapping[int, Closer] = {}
        if asked is not None:
            from engram.usecases.recall import rerank

            closer = (look or rerank.look)(asked, generation, near, [hit.row for hit in hits])
        ranks = generation.ranks([hit.id for hit in hits])
        candidates = _rank(hits, ranked, closer, filters.files, now, ranks, weights)
        if enough or len(candidates) >= limit:
            return candidates
        pool = max(POOL, pool * 8)


def _with_neighbours(generation: Generation, rows: list[int]) -> tuple[list[int], Neighbours]:
    """The rows and those that speak for them, and which these are."""
    from engram.usecases.recall import rerank

    near = rerank.neighbours(generation, rows)
    if near:
        rows = list(dict.fromkeys([*rows, *(other for others in near.values() for other in others)]))
        near = rerank.neighbours(generation, rows)
    return rows, near


def scanned(store: Store, text: str, filters: Filters, limit: int) -> list[Candidate]:
    """Candidates by substring, reading every file: slow, and always possible."""
    from engram.domain.admission.secrets import find_secrets
    from engram.domain.text.stop_words import without_stop_words
    from engram.usecases.store.lore_text import searchable

    wanted = [word for word in without_stop_words(text.lower().split()) if word]
    now, weights = store.clock.now(), ranking.weights_of(store.settings)
    found = []
    for path, stamp in walk.scan(store.places.root, store.places.folder).files.items():
        lore = _read_quietly(store, path)
        if lore is None:
            continue
        lore = credit.in_effect(store, lore)
        if not _lore_passes(lore, filters, now):
            continue
        said = searchable(lore).lower()
        coverage = sum(word in said for word in wanted) / max(len(wanted), 1)
        if coverage and not find_secrets(searchable(lore), store.allowed_secrets):
            score = ranking.score(coverage, None, _standing_of_lore(lore), now.timestamp(), weights=weights)
            found.append(Candidate(path, stamp, lore.id, score))
    return _sorted(found)[: max(limit * 4, 20)]


def read(store: Store, candidates: Sequence[Candidate], limit: int) -> list[tuple[Candidate, Lore]]:
    """Read the best candidates from their files; one that is gone or unreadable is passed over.

    A file whose content changed since it was indexed is shown as it is now.
    """
    shown = []
    seen = set()
    for candidate in candidates:
        lore = _read_quietly(store, candidate.path)
        if lore is None or lore.id != candidate.id or lore.id in seen:
            continue
        seen.add(lore.id)
        shown.append((candidate, lore))
        if len(shown) == limit:
            break
    return shown


def changed(store: Store, candidates: Sequence[Candidate]) -> list[str]:
    """Paths of candidates whose file is not as it was when it was indexed."""
    stamp = walk.stamp
    return [hit.path for hit in candidates if stamp(store.files.absolute(hit.path)) != hit.stamp]


def _allowed_rows(generation: Generation, filters: Filters) -> set[int] | None:
    """The rows that explicit filters leave, or None without such filters."""
    if not (filters.categories or filters.types or filters.tags or _narrows(filters)):
        return None if filters.among is None else set(filters.among)
    conditions, values = ["status = 'active'"], list[object]()
    lists = (("category", filters.categories), ("type", filters.types), ("agent", filters.agents))
    for column, wanted in lists:
        if wanted:
            conditions.append(f"{column} IN ({','.join('?' * len(wanted))})")
            values += wanted
    for tag in filters.tags:
        conditions.append("row IN (SELECT row FROM row_tags WHERE tag = ?)")
        values.append(tag)
    if _narrows(filters):
        conditions.append("created_at >= ? AND created_at < ?")
        values += (filters.since, filters.until)
    found = set(generation.catalog.select_rows(" AND ".join(conditions), values))
    return found if filters.among is None else found & filters.among


def _narrows(filters: Filters) -> bool:
    """Whether agents or times are asked for."""
    return bool(filters.agents) or (filters.since, filters.until) != (float("-inf"), float("inf"))


def _by_and_at(filters: Filters, agent: str, created_at: float) -> bool:
    """Whether agent and time of a lore are those asked for."""
    return (not filters.agents or agent in filters.agents) and filters.since <= created_at < filters.until


def _cosines(embedder: Embedder, generation: Generation, text: str) -> Cosines | None:
    """How near the rows are to the query, or None where the query has no known word."""
    if generation.vectors is None or generation.next_row == 0:
        return None
    vector = embedder.embed_one(text)
    if not vector.any():
        return None
    return generation.vectors.cosines(vector, generation.next_row, generation.next_slot)


def _rank(
    hits: Sequence[Hit],
    ranked: Relevance,
    closer: Mapping[int, Closer],
    files: Sequence[str],
    now: float,
    ranks: Mapping[str, float],
    weights: Weights,
) -> list[Candidate]:
    candidates = []
    parts = ranked.parts([hit.row for hit in hits])
    for hit, (coverage, cosine) in zip(hits, parts, strict=True):
        overlap = 0.0
        if files and hit.files:
            overlap = ranking.path_overlap(hit.files.split("\n"), files)
        near, missing = closer.get(hit.row, _NOT_LOOKED)
        score = ranking.score(
            coverage,
            cosine,
            standing(hit, ranks.get(hit.id)),
            now,
            near=near,
            missing=missing,
            overlap=overlap,
            weights=weights,
        )
        candidates.append(Candidate(hit.path, (hit.mtime_ns, hit.size, hit.inode), hit.id, score))
    return _sorted(candidates)


def _sorted(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first; equal scores by id, so that every machine gives the same order."""
    return sorted(candidates, key=lambda candidate: (-round(candidate.score.total, 6), candidate.id))


def _passes(hit: Hit, filters: Filters, now: float) -> bool:
    return hit.id == filters.admitted or (
        hit.status == ACTIVE
        and (hit.confidence + 5) // 10 * 10 >= filters.min_confidence
        and (hit.expires_at is None or hit.expires_at > now)
        and (not filters.categories or hit.category in filters.categories)
        and (not filters.types or hit.type in filters.types)
        and _by_and_at(filters, hit.agent, hit.created_at)
        and not (
            filters.horizon
            and past_retention(hit.created_at, hit.last_validated, bool(hit.pinned), filters.horizon)
        )
        and not (hit.id in filters.held and waits(filters, hit.id, hit.text_digest))
    )


def waits(filters: Filters, lore_id: str, digest: str) -> bool:
    """Whether this text of a lore waits for a person."""
    digests = filters.held.get(lore_id, ())
    return digests is None or digest in digests


def _lore_passes(lore: Lore, filters: Filters, now: datetime) -> bool:
    return (
        lore.status == ACTIVE
        and round(lore.confidence * 1000) >= filters.min_confidence
        and (lore.expires_at is None or lore.expires_at > now)
        and (not filters.categories or lore.category in filters.categories)
        and (not filters.types or lore.type in filters.types)
        and set(filters.tags) <= set(lore.tags)
        and _by_and_at(filters, lore.agent, lore.created_at.timestamp())
        and not (filters.horizon and is_past(lore, filters.horizon))
        and not lore_waits(filters, lore)
    )


def is_past(lore: Lore, horizon: float) -> bool:
    """Whether a lore is past the retention that ends at `horizon` (Unix seconds)."""
    validated = lore.last_validated.timestamp() if lore.last_validated else None
    return past_retention(lore.created_at.timestamp(), validated, lore.pinned, horizon)


def lore_waits(filters: Filters, lore: Lore) -> bool:
    """Whether a lore waits for a person with the text that it has now."""
    return quarantine.in_quarantine(filters.held, lore)


def _standing_of_lore(lore: Lore) -> Standing:
    validated = lore.last_validated.timestamp() if lore.last_validated else None
    return Standing(
        lore.thousandths,
        lore.type,
        lore.validation_count,
        validated,
        lore.updated_at.timestamp(),
        lore.importance,
        lore.pinned,
    )


def _read_quietly(store: Store, path: str) -> Lore | None:
    try:
        raw = store.files.read(path)
        own = codec.read_own(raw, store.categories)
        return own or codec.read(raw, path, store.categories, _modified(store, path)).lore
    except EngramError:
        return None


def _modified(store: Store, path: str) -> datetime:
    stamp = walk.stamp(store.files.absolute(path))
    return datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC) if stamp else store.clock.now()
