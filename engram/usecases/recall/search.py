"""Search one store: candidates from the index by words and vectors, or from the files by a plain scan, ranked.

Filters come first, then relevance over all rows, then reranking of the best ones by their tokens, neighbours and
standing. `evidence` says how well a candidate answers, and so whether to show it.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import partial

from engram.adapters.files import scan as walk
from engram.adapters.files.frontmatter import codec
from engram.adapters.index.damage import converting_damage
from engram.domain.entry.lore import ACTIVE, MAX_CONTENT, Lore
from engram.domain.errors import EngramError
from engram.domain.recall import ranking
from engram.domain.recall.ranking import Score, Standing, Trust, Weights
from engram.domain.scopes import past_retention
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.index.ranking_facts import standing
from engram.usecases.lookup.filter import Filter
from engram.usecases.recall.relevance import Relevance
from engram.usecases.store import judgements, quarantine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol, TypeVar

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.adapters.index.plain_cosines import PlainCosines
    from engram.adapters.index.vectors import Cosines
    from engram.adapters.index.words import WordHits
    from engram.usecases.recall.rerank import Neighbours, TokenMatch, TokenQuery
    from engram.usecases.store.store import Store

    Match = Callable[[TokenQuery, Generation, Neighbours, Sequence[int]], Mapping[int, TokenMatch]]
    Order = Callable[[WordHits, Cosines | None, set[int] | None, float], "Relevance"]

    class Scored(Protocol):
        """A candidate, or an entry of an answer."""

        @property
        def score(self) -> Score:
            """The score and its parts."""

    Hits = TypeVar("Hits", bound=Scored)


FEW = 10
POOL = 48
WORD_POOL = 100
_ATTEMPTS = 4  # of a search during which another process changes the index
_NO_MATCH = (None, None)
_ACTIVE = Filter(status=ACTIVE)


class Criteria(NamedTuple):
    """The conditions that an entry of one store has to meet to be recalled, and preferences.

    `files` are a preference, not a condition. Entries past their retention at `horizon` (Unix seconds, 0: never) are
    left out. `quarantined` maps ids to the digests of their texts in quarantine; None stands for every text of that
    entry. The entry `admitted` passes regardless of the other conditions, to preview its admission. Only `rows` are
    considered (None: all).
    """

    where: Filter
    files: tuple[str, ...] = ()
    horizon: float = 0.0
    quarantined: Mapping[str, Collection[str] | None] = {}
    admitted: str = ""
    rows: frozenset[int] | None = None


class Candidate(NamedTuple):
    """An entry that may be shown: its path, stamp (mtime ns, bytes, inode), id and score.

    Parts of one imported document share some of their `kin`.
    """

    path: str
    stamp: tuple[int, int, int]
    id: str
    score: Score
    kin: frozenset[tuple[float, int]] = frozenset()


def search_index(
    store: Store,
    generation: Generation,
    text: str,
    criteria: Criteria,
    limit: int,
    *,
    meaning: bool,
    order: Order = Relevance,
    match: Match | None = None,
) -> list[Candidate]:
    """Return candidates from the index that meet the criteria, best first. Raises DamagedIndexError.

    A caller that caches results across queries passes its own `order` (of all rows) and `match` (of tokens).
    """
    with converting_damage():
        for _ in range(_ATTEMPTS):
            found = _candidates(store, generation, text, criteria, limit, meaning, order, match)
            # An entry that another process replaces meanwhile may be missed in both its old and its new text.
            if not generation.follow():
                break
        return found


def _candidates(
    store: Store,
    generation: Generation,
    text: str,
    criteria: Criteria,
    limit: int,
    meaning: bool,
    order: Order,
    match: Match | None,
) -> list[Candidate]:
    """Search the index as it is in memory."""
    allowed = _allowed_rows(generation, criteria)
    words = generation.words
    terms = words.terms(text)
    weights = ranking.weights_of(store.settings)
    embedder = store.embedder if meaning else None
    ranked_by: Callable[..., Relevance] = order
    plain = None
    if embedder is not None and order is Relevance and match is None:
        plain = _without_numpy(embedder, generation, text)
    cosines: Cosines | PlainCosines | None
    if plain is not None:
        cosines, ranked_by, match = plain
    else:
        cosines = _cosines(embedder, generation, text) if embedder else None
    total = generation.next_row
    # Search again for every word hit if the criteria leave too few of the best ones.
    for most in (WORD_POOL, total) if allowed is None and total > WORD_POOL else (total,):
        found = words.search(terms, most)
        if not store.places.folder:
            _limit_length_penalty(generation, found)
        ranked = ranked_by(found, cosines, allowed, weights.words)
        tokens = None
        if cosines is not None and embedder is not None:
            from engram.usecases.recall.rerank import TokenQuery

            tokens = TokenQuery(embedder, words, text, found)
        candidates = _best(store, generation, ranked, tokens, criteria, limit, weights, match)
        if len(candidates) >= limit or len(found.scores) < most:
            break
    return candidates


def _limit_length_penalty(generation: Generation, found: WordHits) -> None:
    """Limit BM25's length penalty of notes that are longer than an entry may be: count them as if they had that length.

    Such notes are about many things, but only the passages that answer are shown.
    """
    from engram.adapters.index.delta import K1, B  # imports the search library

    long = generation.catalog.lengths_beyond(MAX_CONTENT)
    rows = [row for row in long if row in found.scores]
    if not rows:
        return
    mean = max(1.0, generation.catalog.mean_length())

    def damping(length: float) -> float:
        return 1 + K1 * (1 - B + B * length / mean)

    for row in rows:
        found.scores[row] *= damping(long[row]) / damping(min(mean, MAX_CONTENT))


def _best(
    store: Store,
    generation: Generation,
    ranked: Relevance,
    tokens: TokenQuery | None,
    criteria: Criteria,
    limit: int,
    weights: Weights,
    match: Match | None,
) -> list[Candidate]:
    """Rank the most relevant rows and their neighbours; more rows if the criteria leave too few."""
    largest = 1 + ranking.PATH_GAIN * bool(criteria.files)
    pool = max(
        POOL if generation.has_links else FEW,
        2 * limit,
        ranked.rivals(limit, (1 - weights.standing) / largest, POOL),
    )
    while True:
        rows = ranked.best(pool)
        enough = len(rows) < pool
        near: Neighbours = {}
        if tokens is not None:
            rows, near = _with_neighbours(generation, rows)
        now = store.clock.now().timestamp()
        found = credit.hits_in_effect(store, generation.catalog.hits(rows))
        hits = [hit for hit in found if _is_eligible(hit, criteria, now)]
        if not enough and len(hits) < limit:
            pool = POOL if pool < POOL else pool * 8
            continue
        matches: Mapping[int, TokenMatch] = {}
        if tokens is not None:
            from engram.usecases.recall import rerank

            matches = (match or rerank.match_tokens)(tokens, generation, near, [hit.row for hit in hits])
        ranks = generation.ranks([hit.id for hit in hits])
        trust = ranking.BUNDLED
        if tokens is not None:
            trust = (tokens.embedder.trust or trust)._replace(lead=ranking.lead_weight(generation.next_row))
        return _rank(hits, ranked, matches, criteria.files, now, ranks, near, weights, trust)


def _with_neighbours(generation: Generation, rows: list[int]) -> tuple[list[int], Neighbours]:
    """Return the rows with their neighbours added, and the neighbours of each."""
    from engram.usecases.recall import rerank

    near = rerank.neighbours(generation, rows)
    if near:
        rows = list(dict.fromkeys([*rows, *(other for others in near.values() for other in others)]))
        near = rerank.neighbours(generation, rows)
    return rows, near


def scan_files(
    store: Store, text: str, criteria: Criteria, limit: int, files: Mapping[str, walk.FileStamp] | None = None
) -> list[Candidate]:
    """Return candidates by substring search in these files, or in all: slow, but needs no index."""
    from engram.domain.admission.secrets import find_secrets
    from engram.domain.entry.lore import searchable
    from engram.domain.text.stop_words import without_stop_words

    words = without_stop_words(text.lower().split())
    now, weights = store.clock.now(), ranking.weights_of(store.settings)
    found = []
    if files is None:
        files = walk.scan(store.places.root, store.places.folder, store.ignore_rules()).files
    for path, stamp in files.items():
        lore = _read_entry(store, path)
        if lore is None:
            continue
        lore = credit.in_effect(store, lore)
        if not _is_eligible_entry(lore, criteria, now):
            continue
        content = searchable(lore).lower()
        coverage = sum(word in content for word in words) / max(len(words), 1)
        if coverage and not find_secrets(searchable(lore), store.allowed_secrets):
            score = ranking.score(coverage, None, _standing_of(lore), now.timestamp(), weights=weights)
            found.append(Candidate(path, stamp, lore.id, score))
    return sort_by_score(found)[: max(limit * 4, 20)]


def read_candidate(store: Store, criteria: Criteria, candidate: Candidate) -> Lore | None:
    """Read a candidate from its file as it is now; None if that is gone, unreadable or in quarantine."""
    lore = _read_entry(store, candidate.path)
    if lore is None or lore.id != candidate.id or quarantine.in_quarantine(criteria.quarantined, lore):
        return None
    return lore


def read_candidates(
    store: Store, criteria: Criteria, candidates: Iterable[Candidate]
) -> Iterator[tuple[Candidate, Lore]]:
    """Yield the candidates that `read_candidate` can read, with their entries."""
    for hit in candidates:
        lore = read_candidate(store, criteria, hit)
        if lore is not None:
            yield hit, lore


def changed_paths(store: Store, candidates: Sequence[Candidate]) -> list[str]:
    """Return the paths of candidates whose file has changed since it was indexed."""
    return [hit.path for hit in candidates if walk.stamp(store.files.absolute(hit.path)) != hit.stamp]


def evidence(hit: Scored) -> float:
    """Return the amount of evidence that a hit answers the query."""
    score = hit.score
    return ranking.evidence(score.words, score.cosine, score.missing, score.trust)


def sureness(hit: Scored) -> float:
    """Return how close a hit comes to a strong answer; see `ranking.sureness`."""
    return ranking.sureness(evidence(hit), _lead(hit), ranking.bounds(hit.score.cosine))


def _lead(hit: Scored) -> float:
    """Return the lead of a hit, weighted by the size of its store."""
    return hit.score.lead * hit.score.trust.lead


def has_rivals(found: Sequence[Scored]) -> bool:
    """Test whether an answer is weak only because several of its hits (best first) are on the subject."""
    return len(found) > 1 and evidence(found[0]) >= ranking.ON_SUBJECT


def strength_of(found: Sequence[Scored], amounts: Sequence[float] | None = None, *, bar: float = 1.0) -> str:
    """Return the strength of an answer of these hits, best first; `amounts` is their evidence if it is known already.

    An answer is strong if its best hit is, and weak if any hit is. `bar` is the share of the bound that is enough.
    """
    amounts = [evidence(hit) for hit in found] if amounts is None else amounts
    levels = [
        ranking.strength(amount, _lead(hit), ranking.bounds(hit.score.cosine), bar)
        for hit, amount in zip(found, amounts, strict=True)
    ]
    if levels[:1] == [ranking.STRONG]:
        return ranking.STRONG
    return ranking.WEAK if any(level != ranking.NONE for level in levels) else ranking.NONE


def strong_hits(found: Sequence[Hits], bar: float = 1.0) -> list[Hits]:
    """Return the best of these hits and the strong ones close to its score; none if the best is not strong."""
    if strength_of(found, bar=bar) != ranking.STRONG:
        return []
    least = ranking.BESIDE * found[0].score.total
    return [
        hit for hit in found if hit.score.total >= least and strength_of([hit], bar=bar) == ranking.STRONG
    ]


def worth_showing(found: Sequence[Candidate], threshold: float = 0.0) -> list[Candidate]:
    """Return the candidates with enough evidence; none if nothing answers.

    `threshold` is added to the evidence that a hit needs.
    """
    amounts = [evidence(hit) for hit in found]
    if strength_of(found, amounts) == ranking.NONE:
        return []
    return [
        hit
        for hit, amount in zip(found, amounts, strict=True)
        if amount >= ranking.bounds(hit.score.cosine).shown + threshold
    ]


def _allowed_rows(generation: Generation, criteria: Criteria) -> set[int] | None:
    """Return the rows that pass explicit filters, or None without such filters."""
    # Not by confidence: which claims count here (see `credit`) is not in the catalog.
    where = criteria.where._replace(min_confidence=0)
    if where == _ACTIVE:
        return None if criteria.rows is None else set(criteria.rows)
    found = set(generation.catalog.select_rows(*where.sql()))
    return found if criteria.rows is None else found & criteria.rows


def _without_numpy(
    embedder: Embedder, generation: Generation, text: str
) -> tuple[PlainCosines | None, Callable[..., Relevance], Match | None] | None:
    """Return the cosines, the order and the token match without numpy; None where numpy is faster."""
    if "numpy" in sys.modules or generation.vectors is None or generation.next_row == 0:
        return None
    from engram.usecases.recall.plain_search import PlainRelevance, match_tokens, plain_model

    model = plain_model(embedder, generation)
    if model is None:
        return None
    direction = model.direction(text)
    if not any(direction):
        return None, Relevance, None
    cosines = generation.vectors.plain_cosines(direction, generation.next_row, generation.next_slot)
    return cosines, PlainRelevance, partial(match_tokens, model)


def _cosines(embedder: Embedder, generation: Generation, text: str) -> Cosines | None:
    """Return the cosines of all rows with the query, or None if the query has no known word."""
    if generation.vectors is None or generation.next_row == 0:
        return None
    vector = embedder.embed_one(text)
    if not vector.any():
        return None
    return generation.vectors.cosines(vector, generation.next_row, generation.next_slot)


def _rank(
    hits: Sequence[Hit],
    ranked: Relevance,
    matches: Mapping[int, TokenMatch],
    files: Sequence[str],
    now: float,
    ranks: Mapping[str, float],
    linked: Neighbours,
    weights: Weights,
    trust: Trust,
) -> list[Candidate]:
    candidates = []
    parts = ranked.parts([hit.row for hit in hits])
    for hit, (coverage, cosine) in zip(hits, parts, strict=True):
        overlap = 0.0
        if files and hit.files:
            overlap = ranking.path_overlap(hit.files.split("\n"), files)
        near, missing = matches.get(hit.row, _NO_MATCH)
        score = ranking.score(
            coverage,
            cosine,
            standing(hit, ranks.get(hit.id)),
            now,
            near=near,
            missing=missing,
            overlap=overlap,
            weights=weights,
            trust=trust,
        )
        # The parts of a document were made at one moment, and all are linked to the first.
        document = [hit.row, *linked[hit.row]] if hit.row in linked else []
        kin = frozenset((hit.created_at, row) for row in document)
        candidates.append(Candidate(hit.path, (hit.mtime_ns, hit.size, hit.inode), hit.id, score, kin))
    return sort_by_score(candidates)


def sort_by_score(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Sort candidates, best first, and set their leads; equal scores by id, for the same order on every machine."""
    found = sorted(candidates, key=lambda candidate: (-round(candidate.score.total, 6), candidate.id))
    leads = ranking.with_leads([one.score for one in found], [one.kin for one in found])
    return [one._replace(score=score) for one, score in zip(found, leads, strict=True)]


def _is_eligible(hit: Hit, criteria: Criteria, now: float) -> bool:
    """Test whether a hit, whose row is among `_allowed_rows`, meets the other criteria."""
    if hit.id == criteria.admitted:
        return True
    if not criteria.where.accepts_hit(hit) or (hit.expires_at is not None and hit.expires_at <= now):
        return False
    horizon = criteria.horizon
    if horizon and past_retention(hit.created_at, hit.last_validated, bool(hit.pinned), horizon):
        return False
    if hit.id not in criteria.quarantined:
        return True
    digests = criteria.quarantined[hit.id]
    return digests is not None and hit.text_digest not in digests


def _is_eligible_entry(lore: Lore, criteria: Criteria, now: datetime) -> bool:
    return (
        criteria.where.accepts(lore)
        and (lore.expires_at is None or lore.expires_at > now)
        and not (criteria.horizon and is_past_retention(lore, criteria.horizon))
        and not quarantine.in_quarantine(criteria.quarantined, lore)
    )


def is_past_retention(lore: Lore, horizon: float) -> bool:
    """Test whether an entry is past the retention that ends at `horizon` (Unix seconds)."""
    validated = lore.last_validated.timestamp() if lore.last_validated else None
    return past_retention(lore.created_at.timestamp(), validated, lore.pinned, horizon)


def _standing_of(lore: Lore) -> Standing:
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


def _read_entry(store: Store, path: str) -> Lore | None:
    try:
        raw = store.files.read(path)
        lore = codec.read_own(raw, store.categories)
        if lore is None:
            modified, first_seen = _modification_time(store, path), store.first_seen(path)
            lore = codec.read(raw, path, store.categories, modified, first_seen=first_seen).lore
        return judgements.with_tally(store, lore)
    except EngramError:
        return None


def _modification_time(store: Store, path: str) -> datetime:
    stamp = walk.stamp(store.files.absolute(path))
    return datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC) if stamp else store.clock.now()
