"""Search one store: candidates from the index by words and vectors, or from the files by a plain scan, ranked.

Filters come first, then relevance over all rows, then reranking of the best ones by their tokens, their neighbours and
what is known of each entry. `evidence` says how well a candidate answers, and so whether to show it.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import partial

from engram.adapters.files import scan as walk
from engram.adapters.files.frontmatter import codec
from engram.adapters.index.damage import damage_noticed
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
_ATTEMPTS = 4  # another process would have to change the index during each
_NO_MATCH = (None, None)
_ACTIVE = Filter(status=ACTIVE)


class Criteria(NamedTuple):
    """What an entry of one store has to meet to be recalled, and what makes it more relevant.

    `files` are a preference of the caller, not a condition. Entries past their retention at `horizon` (Unix seconds, 0:
    never) are left out. `quarantined` are the digests, by id, of the texts in quarantine; None stands for every text of
    that entry. The entry `admitted` passes whatever the other conditions say: to see what letting it in would do. `rows`
    are the only ones to consider (None: all).
    """

    where: Filter
    files: tuple[str, ...] = ()
    horizon: float = 0.0
    quarantined: Mapping[str, Collection[str] | None] = {}
    admitted: str = ""
    rows: frozenset[int] | None = None


class Candidate(NamedTuple):
    """An entry that may be shown: its path, stamp (mtime ns, bytes, inode), id and score.

    Parts of one imported document have some of their `kin` in common.
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
    """Return candidates from the index, best first, all of which meet the criteria. Raises DamagedIndexError.

    A caller that remembers the results of earlier queries passes its own `order` (of all rows) and `match` (of tokens).
    """
    with damage_noticed():
        for _ in range(_ATTEMPTS):
            found = _candidates(store, generation, text, criteria, limit, meaning, order, match)
            # What another process replaces meanwhile is neither among the old texts nor among the new ones.
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
    """Search the index as it is in memory now."""
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
    every = generation.next_row
    # Search again for every word hit if the criteria leave too few of the best ones.
    for most in (WORD_POOL, every) if allowed is None and every > WORD_POOL else (every,):
        found = words.search(terms, most)
        if not store.places.folder:
            _judge_by_passage(generation, found)
        ranked = ranked_by(found, cosines, allowed, weights.words)
        tokens = None
        if cosines is not None and embedder is not None:
            from engram.usecases.recall.rerank import TokenQuery  # not needed for words alone

            tokens = TokenQuery(embedder, words, text, found)
        candidates = _best(store, generation, ranked, tokens, criteria, limit, weights, match)
        if len(candidates) >= limit or len(found.scores) < most:
            break
    return candidates


def _judge_by_passage(generation: Generation, found: WordHits) -> None:
    """Take back what BM25 holds against the length of notes that are longer than an entry may be.

    They are about many things, and are shown by the passages that answer: each counts as if it were an entry's length.
    """
    from engram.adapters.index.delta import K1, B  # with the library that searches

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
            pool = POOL if pool < POOL else pool * 8  # so many are in order already
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
    """Add the neighbours of rows to them; return both and who is whose neighbour."""
    from engram.usecases.recall import rerank

    near = rerank.neighbours(generation, rows)
    if near:
        rows = list(dict.fromkeys([*rows, *(other for others in near.values() for other in others)]))
        near = rerank.neighbours(generation, rows)
    return rows, near


def scan_files(
    store: Store, text: str, criteria: Criteria, limit: int, files: Mapping[str, walk.FileStamp] | None = None
) -> list[Candidate]:
    """Return candidates by substring, reading these files, or every one: slow, but possible without an index."""
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
    """Read a candidate from its file, as it is now; None if that is gone, unreadable, or in quarantine by now."""
    lore = _read_entry(store, candidate.path)
    if lore is None or lore.id != candidate.id or quarantine.in_quarantine(criteria.quarantined, lore):
        return None
    return lore


def read_candidates(
    store: Store, criteria: Criteria, candidates: Iterable[Candidate]
) -> Iterator[tuple[Candidate, Lore]]:
    """Yield candidates with their entries, as `read_candidate` reads them; without those that it leaves out."""
    for hit in candidates:
        lore = read_candidate(store, criteria, hit)
        if lore is not None:
            yield hit, lore


def changed_paths(store: Store, candidates: Sequence[Candidate]) -> list[str]:
    """Return the paths of candidates whose file has changed since it was indexed."""
    stamp = walk.stamp
    return [hit.path for hit in candidates if stamp(store.files.absolute(hit.path)) != hit.stamp]


def evidence(hit: Scored) -> float:
    """Return how much evidence there is that a hit answers the query."""
    score = hit.score
    return ranking.evidence(score.words, score.cosine, score.missing, score.trust)


def sureness(hit: Scored) -> float:
    """Return how much a hit has of what a strong answer needs; see `ranking.sureness`."""
    return ranking.sureness(evidence(hit), _lead(hit), ranking.bounds(hit.score.cosine))


def _lead(hit: Scored) -> float:
    """Return the lead of a hit, which counts the more, the more entries its store has."""
    return hit.score.lead * hit.score.trust.lead


def has_rivals(found: Sequence[Scored]) -> bool:
    """Return whether a weak answer is weak only because several hits, best first, are about what was asked."""
    return len(found) > 1 and evidence(found[0]) >= ranking.ON_SUBJECT


def strength_of(found: Sequence[Scored], bar: float = 1.0) -> str:
    """Return the strength of an answer of these hits, best first; see `strength_by`."""
    return strength_by(found, [evidence(hit) for hit in found], bar)


def strength_by(found: Sequence[Scored], known: Sequence[float], bar: float = 1.0) -> str:
    """Return the strength of an answer of hits, best first, whose evidence is known.

    It is strong by its best hit alone, and weak by any. `bar` is the share of the bound that is enough.
    """
    levels = [
        ranking.strength(much, _lead(hit), ranking.bounds(hit.score.cosine), bar)
        for hit, much in zip(found, known, strict=True)
    ]
    if levels[:1] == [ranking.STRONG]:
        return ranking.STRONG
    return ranking.WEAK if any(level != ranking.NONE for level in levels) else ranking.NONE


def strong_hits(found: Sequence[Hits], bar: float = 1.0) -> list[Hits]:
    """Return the best of these hits, best first, and the strong ones that come near it; none where the best is not strong."""
    if strength_of(found, bar) != ranking.STRONG:
        return []
    nearest = ranking.BESIDE * found[0].score.total
    return [hit for hit in found if hit.score.total >= nearest and strength_of([hit], bar) == ranking.STRONG]


def worth_showing(found: Sequence[Candidate], threshold: float = 0.0) -> list[Candidate]:
    """Return the candidates with enough evidence beside the best one; none if nothing answers.

    `threshold` is added to the evidence that a hit needs.
    """
    known = [evidence(hit) for hit in found]
    if strength_by(found, known) == ranking.NONE:
        return []
    return [
        hit
        for hit, much in zip(found, known, strict=True)
        if much >= ranking.bounds(hit.score.cosine).shown + threshold
    ]


def _allowed_rows(generation: Generation, criteria: Criteria) -> set[int] | None:
    """Return the rows that explicit filters leave, or None without such filters."""
    # Confidence depends on whose claims count here (see `credit`), which the catalog does not know.
    where = criteria.where._replace(min_confidence=0)
    if where == _ACTIVE:
        return None if criteria.rows is None else set(criteria.rows)
    found = set(generation.catalog.select_rows(*where.sql()))
    return found if criteria.rows is None else found & criteria.rows


def _without_numpy(
    embedder: Embedder, generation: Generation, text: str
) -> tuple[PlainCosines | None, Callable[..., Relevance], Match | None] | None:
    """Return the cosines as `_cosines` does, and what orders and reranks by them; None where numpy is the better way."""
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
    """Best first, each with its lead; equal scores by id, so that every machine gives the same order."""
    found = sorted(candidates, key=lambda candidate: (-round(candidate.score.total, 6), candidate.id))
    leads = ranking.with_leads([one.score for one in found], [one.kin for one in found])
    return [one._replace(score=score) for one, score in zip(found, leads, strict=True)]


def _is_eligible(hit: Hit, criteria: Criteria, now: float) -> bool:
    """Test a catalog line whose row is among `_allowed_rows`."""
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
        and not (criteria.horizon and is_past(lore, criteria.horizon))
        and not quarantine.in_quarantine(criteria.quarantined, lore)
    )


def is_past(lore: Lore, horizon: float) -> bool:
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
        own = codec.read_own(raw, store.categories)
        lore = (
            own
            or codec.read(
                raw,
                path,
                store.categories,
                _modification_time(store, path),
                first_seen=store.first_seen(path),
            ).lore
        )
        return judgements.with_tally(store, lore)
    except EngramError:
        return None


def _modification_time(store: Store, path: str) -> datetime:
    stamp = walk.stamp(store.files.absolute(path))
    return datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC) if stamp else store.clock.now()
