"""Recall: the lore that answers a question, ranked, with session refs and reasons.

Degrades in steps that the result names: hybrid → words (no embedding model) → scan (no index).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError
from engram.adapters.state.database import Retrieval
from engram.domain import ranking, strength
from engram.domain.categories import parse_types
from engram.domain.errors import StoreError, UsageError
from engram.domain.lore import Lore
from engram.domain.ranking import Score, Standing
from engram.domain.validation import check_fraction, check_text
from engram.usecases import search
from engram.usecases.refresh import refresh
from engram.usecases.search import Candidate, Filters

if TYPE_CHECKING:
    from engram.usecases.store import Store

HYBRID, WORDS, SCAN = STRATEGIES = ("hybrid", "words", "scan")
MAX_QUERY = 20_000
MAX_RESULTS = 100


class Question(NamedTuple):
    """A query as every front end asks it. `None` means: as configured. `files` are the caller's, as a preference."""

    text: str
    limit: int | None = None
    min_confidence: float | None = None
    categories: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    strategy: str = HYBRID
    keep: bool = True


class Recalled(NamedTuple):
    """One lore of an answer: its short name in the session, the lore, where it is, and why it is here."""

    ref: str
    lore: Lore
    path: str
    score: Score
    scope: str


class Answer(NamedTuple):
    """The lore that answer a query, best first. `notes` say what was degraded; `took_ms` is the whole time."""

    query: str
    strength: str
    strategy: str
    lore: tuple[Recalled, ...]
    took_ms: float
    notes: tuple[str, ...] = ()

    @property
    def session_refs(self) -> dict[str, str]:
        """`L1` → id of each lore shown."""
        return {recalled.ref: recalled.lore.id for recalled in self.lore}


def query(store: Store, question: Question) -> Answer:
    """Answer a question. An empty store or no relevant lore is an empty answer, not an error.

    Raises ValidationError, UsageError for a bad question.
    """
    began = store.clock.nanoseconds()
    filters, limit = _checked(store, question)
    with store.lock:
        notes = list(_refresh(store))
        strategy, candidates = _search(store, question, filters, limit, notes)
        kept = [c for c in candidates if strength.is_relevant(strength.evidence(c.score.words, c.score.cosine))]
        best = max((strength.evidence(c.score.words, c.score.cosine) for c in kept), default=0.0)
        shown = search.read(store, kept, limit)
        refs = _surface(store, shown, question.keep)
        lore = tuple(
            Recalled(refs.get(lore.id, ""), lore, hit.path, hit.score, store.places.scope) for hit, lore in shown
        )
        took_ms = (store.clock.nanoseconds() - began) / 1e6
        answer = Answer(
            question.text, strength.strength(best) if lore else strength.NONE, strategy, lore, round(took_ms, 3),
            tuple([*notes, *store.degraded]),
        )  # fmt: skip
        _log(store, answer, question.keep)
        return answer


def _checked(store: Store, question: Question) -> tuple[Filters, int]:
    check_text("query", question.text, MAX_QUERY * 10)
    if not question.text.strip():
        raise UsageError("The query is empty.", 'Say what you want to know: engram query "how do we retry"')
    if question.strategy not in STRATEGIES:
        raise UsageError(f"'{question.strategy}' is not a strategy.", f"Valid: {', '.join(STRATEGIES)}.")
    limit = int(store.settings.number("recall.limit")) if question.limit is None else question.limit
    if not 1 <= limit <= MAX_RESULTS:
        raise UsageError(f"k must be from 1 to {MAX_RESULTS}, not {limit}.")
    lowest = question.min_confidence
    lowest = store.settings.number("recall.min_confidence") if lowest is None else lowest
    filters = Filters(
        round(check_fraction("min_confidence", lowest) * 1000),
        tuple(store.categories.parse(name) for name in question.categories),
        parse_types(question.types),
        question.tags,
        question.files,
    )
    return filters, limit


def _refresh(store: Store) -> Sequence[str]:
    try:
        done = refresh(store, thorough=False)
    except IndexUnavailableError as error:
        return [error.message]
    if not done.fresh:
        return ["another process is rebuilding the index: the newest changes may be missing"]
    return []


def _search(
    store: Store, question: Question, filters: Filters, limit: int, notes: list[str]
) -> tuple[str, list[Candidate]]:
    """Search by the best strategy that works; each step down is noted. A damaged index is rebuilt once."""
    text = question.text[:MAX_QUERY]
    for attempt in (1, 2):
        generation = store.index.look()
        if generation is None or question.strategy == SCAN:
            break
        meaning = question.strategy == HYBRID and store.embedder is not None
        try:
            return (HYBRID if meaning else WORDS), search.indexed(store, generation, text, filters, limit, meaning=meaning)
        except DamagedIndexError as error:
            store.index.damaged(str(error))
            notes.append(f"the index was damaged ({error}) and is rebuilt")
            if attempt == 1:
                _rebuild_quietly(store, notes)
    return SCAN, search.scanned(store, text, filters, limit)


def _rebuild_quietly(store: Store, notes: list[str]) -> None:
    try:
        refresh(store)
    except IndexUnavailableError as error:
        notes.append(error.message)


def _surface(store: Store, shown: Sequence[tuple[Candidate, Lore]], keep: bool) -> dict[str, str]:
    if not keep or not shown:
        return {}
    pairs = [(lore.id, lore.title) for _, lore in shown]
    try:
        return store.state.surface(store.caller.session, pairs, store.clock.now().timestamp())
    except (StoreError, OSError, *search.sqlite_errors()):
        return {lore_id: f"L{number}" for number, (lore_id, _) in enumerate(pairs, 1)}


def _log(store: Store, answer: Answer, keep: bool) -> None:
    if not keep or not store.settings.flag("recall.log"):
        return
    ids = tuple(recalled.lore.id for recalled in answer.lore)
    scores = tuple(recalled.score.total for recalled in answer.lore)
    now = store.clock.now().timestamp()
    entry = Retrieval(now, store.caller.session, answer.query, answer.strategy, answer.strength, ids, scores, answer.took_ms)
    try:
        store.state.log(entry)
    except (StoreError, OSError, *search.sqlite_errors()):
        store.degraded.append("the retrieval log cannot be written")


def standing_of(hit: object) -> Standing:
    """The standing of a catalog line."""
    return search.standing(hit)  # type: ignore[arg-type]


__all__ = ["Answer", "Question", "Recalled", "query", "ranking"]
