"""Search one store: candidates from the index by words and vectors, or from the files by a plain scan, ranked.

Filters come first, then relevance over all rows, then reranking of the best ones by their tokens, their neighbours and
what is known of each entry. `evidence` says how well a candidate answers, and so whether to show it.
"""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files import scan as walk
from engram.adapters.files.frontmatter import codec
from engram.adapters.index.damage import damage_noticed
from engram.adapters.numeric import numpy_module
from engram.domain.entry.lore import ACTIVE, MAX_CONTENT, Lore
from engram.domain.errors import EngramError
from engram.domain.recall import ranking
from engram.domain.recall.ranking import Score, Standing, Weights
from engram.domain.scopes import past_retention
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.index.standing import standing
from engram.usecases.lookup.filter import Filter
from engram.usecases.store import judgements, quarantine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Protocol

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
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

    from numpy import float32, intp
    from numpy.typing import NDArray

    Floats = NDArray[float32]

# The order of rows by how well their text answers, before anything else about them is considered.

_FEW = 1000


class Relevance:
    """The relevance of rows to one query: from word hits, and from `cosines` if there are any.

    `allowed` are the rows that explicit filters leave (None: all); `weight` is the weight of words against meaning.
    """

    def __init__(
        self, found: WordHits, cosines: Cosines | None, allowed: set[int] | None, weight: float
    ) -> None:
        """Compute nothing yet."""
        self._found = found
        self._cosines = cosines
        self._allowed = allowed
        self._weight = weight
        self._rows: list[int] = []
        self._values: list[float] = []  # of `_rows`: how relevant each is
        self._asked = 0
        self._known: dict[int, float] = {}  # cosines of rows that were looked at

    def parts(self, rows: Sequence[int]) -> list[tuple[float, float | None]]:
        """Return coverage and cosine of each of these rows."""
        return list(zip(map(self._coverage, rows), self._cosines_of(rows), strict=True))

    def _coverage(self, row: int) -> float:
        perfect = self._found.perfect
        return min(1.0, self._found.scores.get(row, 0.0) / perfect) if perfect else 0.0

    def _cosines_of(self, rows: Sequence[int]) -> list[float] | list[None]:
        if self._cosines is None:
            return [None] * len(rows)
        known = self._known
        if unknown := [row for row in rows if row not in known]:
            numpy = numpy_module()
            found = self._cosines.of(numpy.array(unknown, dtype=numpy.int64))
            known.update(zip(unknown, found.tolist(), strict=True))
        return [known[row] for row in rows]

    def best(self, count: int) -> list[int]:
        """Return the `count` most relevant rows, best first, and those that equal the last; fewer if there are no more."""
        self._order_first(count + 1)
        while len(self._rows) > count and self._values[count] == self._values[count - 1] > 0:
            count += 1
            self._order_first(count + 1 if count < len(self._rows) else 2 * count)
        return self._rows[:count]

    def rivals(self, limit: int, share: float, most: int) -> int:
        """Count the rows (up to `most`) at least `share` as relevant as the `limit`-th: only they can beat it."""
        self._order_first(most + 1)
        if len(self._rows) <= limit:
            return max(1, len(self._rows))
        floor = share * self._values[limit - 1]
        return sum([value >= floor for value in self._values[:most]])

    def _order_first(self, count: int) -> None:
        """Order at least the `count` most relevant rows, best first, or all that there are."""
        if count <= self._asked:
            return
        self._asked = count
        if self._cosines is None:
            self._rows, self._values = self._by_words()
        else:
            self._rows, self._values = self._by_both(self._cosines, count)

    def _by_words(self) -> tuple[list[int], list[float]]:
        allowed = self._allowed
        rows = [row for row in self._found.scores if allowed is None or row in allowed]
        return rows, [self._coverage(row) for row in rows]

    def _by_both(self, cosines: Cosines, count: int) -> tuple[list[int], list[float]]:
        """Order rows by `ranking.relevance`; those without word hits by their cosines."""
        numpy = numpy_module()
        scores, every, allowed = self._found.scores, cosines.rows, self._allowed
        if allowed is None:
            said = (
                list(scores) if not scores or max(scores) < every else [row for row in scores if row < every]
            )
            others = cosines.largest(count).tolist()
        else:
            said = [row for row in scores if row < every and row in allowed]
            others = [row for row in allowed if row < every]
        places = numpy.array(said + [row for row in others if row not in scores], dtype=numpy.intp)
        near = cosines.of(places)
        fused = numpy.maximum(near, 0.0)
        if said and self._found.perfect:
            coverage = numpy.array([scores[row] for row in said], dtype=numpy.float32) / self._found.perfect
            fused[: len(said)] += self._weight * numpy.minimum(coverage, 1.0) ** ranking.SHARPNESS
        first = _largest(fused, count)
        rows = places[first].tolist()
        self._known.update(zip(rows, near[first].tolist(), strict=True))
        return rows, (fused[first].astype(numpy.float64) / (1 + self._weight)).tolist()


def _largest(values: Floats, count: int) -> NDArray[intp]:
    """Return the places of the `count` largest values, the largest first."""
    order: NDArray[intp]
    if len(values) <= _FEW:
        order = (-values).argsort(kind="stable")
        return order[:count]
    places = values.argpartition(max(0, len(values) - count))[-count:]
    order = places[(-values[places]).argsort(kind="stable")]
    return order


FEW = 10
POOL = 48
WORD_POOL = 100
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
    """An entry that may be shown: its path, stamp (mtime ns, bytes, inode), id and score."""

    path: str
    stamp: tuple[int, int, int]
    id: str
    score: Score


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
        allowed = _allowed_rows(generation, criteria)
        words = generation.words
        terms = words.terms(text)
        weights = ranking.weights_of(store.settings)
        embedder = store.embedder if meaning else None
        cosines = _cosines(embedder, generation, text) if embedder else None
        every = generation.next_row
        # Search again for every word hit if the criteria leave too few of the best ones.
        for most in (WORD_POOL, every) if allowed is None and every > WORD_POOL else (every,):
            found = words.search(terms, most)
            if not store.places.folder:
                _judge_by_passage(generation, found)
            ranked = order(found, cosines, allowed, weights.words)
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
    from engram.adapters.index.words import K1, B  # with the library that searches

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
        matches: Mapping[int, TokenMatch] = {}
        if tokens is not None:
            from engram.usecases.recall import rerank

            matches = (match or rerank.match_tokens)(tokens, generation, near, [hit.row for hit in hits])
        ranks = generation.ranks([hit.id for hit in hits])
        candidates = _rank(hits, ranked, matches, criteria.files, now, ranks, weights)
        if enough or len(candidates) >= limit:
            return candidates
        pool = max(POOL, pool * 8)


def _with_neighbours(generation: Generation, rows: list[int]) -> tuple[list[int], Neighbours]:
    """Add the neighbours of rows to them; return both and who is whose neighbour."""
    from engram.usecases.recall import rerank

    near = rerank.neighbours(generation, rows)
    if near:
        rows = list(dict.fromkeys([*rows, *(other for others in near.values() for other in others)]))
        near = rerank.neighbours(generation, rows)
    return rows, near


def scan_files(store: Store, text: str, criteria: Criteria, limit: int) -> list[Candidate]:
    """Return candidates by substring, reading every file: slow, but possible without an index."""
    from engram.domain.admission.secrets import find_secrets
    from engram.domain.entry.lore import searchable
    from engram.domain.text.stop_words import without_stop_words

    words = [word for word in without_stop_words(text.lower().split()) if word]
    now, weights = store.clock.now(), ranking.weights_of(store.settings)
    found = []
    for path, stamp in walk.scan(store.places.root, store.places.folder, store.ignore_rules()).files.items():
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
    return _sorted(found)[: max(limit * 4, 20)]


def read_candidate(store: Store, criteria: Criteria, candidate: Candidate) -> Lore | None:
    """Read a candidate from its file, as it is now; None if that is gone, unreadable, or in quarantine by now."""
    lore = _read_entry(store, candidate.path)
    if lore is None or lore.id != candidate.id or quarantine.in_quarantine(criteria.quarantined, lore):
        return None
    return lore


def changed_paths(store: Store, candidates: Sequence[Candidate]) -> list[str]:
    """Return the paths of candidates whose file has changed since it was indexed."""
    stamp = walk.stamp
    return [hit.path for hit in candidates if stamp(store.files.absolute(hit.path)) != hit.stamp]


def evidence(hit: Scored) -> float:
    """Return how much evidence there is that a hit answers the query."""
    score = hit.score
    return ranking.evidence(score.words, score.cosine, score.missing)


def strength_of(found: Sequence[Scored], bar: float = 1.0) -> str:
    """Return the strength of an answer of these hits: that of the one with the most evidence; see `strength_by`."""
    return strength_by(found, [evidence(hit) for hit in found], bar)


def strength_by(found: Sequence[Scored], known: Sequence[float], bar: float = 1.0) -> str:
    """Return the strength of an answer of hits whose evidence is known; `bar` is the share of the bound that is enough."""
    levels = [
        ranking.strength(much, hit.score.lead, ranking.bounds(hit.score.cosine), bar)
        for hit, much in zip(found, known, strict=True)
    ]
    return next((level for level in ranking.STRENGTHS if level in levels), ranking.NONE)


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
    weights: Weights,
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
        )
        candidates.append(Candidate(hit.path, (hit.mtime_ns, hit.size, hit.inode), hit.id, score))
    return _sorted(candidates)


def _sorted(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first, each with its lead; equal scores by id, so that every machine gives the same order."""
    found = sorted(candidates, key=lambda candidate: (-round(candidate.score.total, 6), candidate.id))
    leads = ranking.with_leads([candidate.score for candidate in found])
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
                raw, path, store.categories, _modified(store, path), first_seen=store.first_seen(path)
            ).lore
        )
        return judgements.with_tally(store, lore)
    except EngramError:
        return None


def _modified(store: Store, path: str) -> datetime:
    stamp = walk.stamp(store.files.absolute(path))
    return datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC) if stamp else store.clock.now()
