"""Recall: the lore that answers a question, ranked, with session refs and reasons.

Degrades in steps that the result names: hybrid → words (no embedding model) → scan (no index).
"""

from __future__ import annotations

import contextlib
import sqlite3

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError
from engram.adapters.state.database import Retrieval
from engram.domain import strength
from engram.domain.categories import parse_types
from engram.domain.errors import StoreError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.domain.validation import MAX_ITEMS, check_fraction, check_text
from engram.usecases import held, search
from engram.usecases.refresh import refresh
from engram.usecases.search import Candidate, Filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.lore import Lore
    from engram.domain.ranking import Score
    from engram.usecases.store import Store

HYBRID, WORDS, SCAN = STRATEGIES = ("hybrid", "words", "scan")
MAX_QUERY = 20_000
MAX_RESULTS = 100


class Question(NamedTuple):
    """A query as every front end asks it. `None` means: as configured. `files` are the caller's, as a preference.

    `keep` gives refs and a line in the retrieval log; `as_of` asks the store of a commit or date.
    """

    text: str
    limit: int | None = None
    min_confidence: float | None = None
    categories: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    strategy: str = HYBRID
    keep: bool = True
    as_of: str = ""


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
        notes = list(store.notes)
        strategy, shown = _recall(store, question, filters, limit, notes)
        refs = _surface(store, shown, question.keep)
        lore = tuple(
            Recalled(refs.get(lore.id, ""), lore, hit.path, hit.score, store.places.scope)
            for hit, lore in shown
        )
        found = _strength([hit for hit, _ in shown])
        store.asked_ns = store.clock.nanoseconds()
        took_ms = round((store.asked_ns - began) / 1e6, 3)
        notes += store.degraded
        answer = Answer(question.text, found, strategy, lore, took_ms, tuple(notes))
        _log(store, answer, question.keep)
        return answer


def _recall(
    store: Store, question: Question, filters: Filters, limit: int, notes: list[str]
) -> tuple[str, list[tuple[Candidate, Lore]]]:
    """The strategy that worked and what it found, from the store as it is or as it was."""
    source = store
    if question.as_of:
        from engram.usecases.as_of import store_as_of

        source = store_as_of(store, question.as_of)
    try:
        notes += _refresh(source)
        strategy, kept = _find(source, question, filters, limit, notes)
        shown = search.read(source, kept, limit)
        # What came in after the search was made is in the files already.
        return strategy, [pair for pair in shown if not search.lore_waits(filters, pair[1])]
    finally:
        if source is not store:
            source.close()


def _find(
    store: Store, question: Question, filters: Filters, limit: int, notes: list[str]
) -> tuple[str, list[Candidate]]:
    """Relevant candidates; once more where a file about to be shown changed without a trace in its folder."""
    strategy, candidates = _search(store, question, filters, limit, notes)
    changed = search.changed(store, candidates[:limit])
    if changed and strategy != SCAN:
        with contextlib.suppress(IndexUnavailableError):
            refresh(store, paths=changed)
            strategy, candidates = _search(store, question, filters, limit, notes)
    if _strength(candidates) == strength.NONE:
        return strategy, []
    shown_from = strength.bounds(candidates[0].score.cosine).shown
    return strategy, [hit for hit in candidates if _evidence(hit) >= shown_from]


def _strength(candidates: Sequence[Candidate]) -> str:
    """The strength of an answer of these candidates: that of the one for which most speaks."""
    best = max(candidates, key=_evidence, default=None)
    if best is None:
        return strength.NONE
    return strength.strength(_evidence(best), strength.bounds(best.score.cosine))


def _evidence(candidate: Candidate) -> float:
    return strength.evidence(candidate.score.words, candidate.score.cosine)


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
    for field, words in (("tags", question.tags), ("files", question.files)):
        if len(words) > MAX_ITEMS:
            raise UsageError(
                f"{len(words):,} {field} are too many to ask for; at most {MAX_ITEMS} are looked at."
            )
        for word in words:
            check_text(field, word, MAX_QUERY)
    filters = Filters(
        round(check_fraction("min_confidence", lowest) * 1000),
        tuple(store.categories.parse(name) for name in question.categories),
        parse_types(question.types),
        question.tags,
        question.files,
        held.texts(store, whole=bool(question.as_of)),
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
    for _ in (1, 2):
        generation = store.index.generation or store.index.look()  # a refresh has just looked
        if generation is None or question.strategy == SCAN:
            break
        meaning = question.strategy == HYBRID and store.embedder is not None
        try:
            found = search.indexed(store, generation, text, filters, limit, meaning=meaning)
        except DamagedIndexError as error:
            store.index.damaged(str(error))
            notes.append(f"the index was damaged ({error}) and is rebuilt")
        except EmbeddingError as error:
            store.give_up_meaning(error)
        else:
            return (HYBRID if meaning else WORDS), found
        _refresh_quietly(store, notes)
    return SCAN, search.scanned(store, text, filters, limit)


def _refresh_quietly(store: Store, notes: list[str]) -> None:
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
    except (StoreError, OSError, sqlite3.Error):
        return {lore_id: f"L{number}" for number, (lore_id, _) in enumerate(pairs, 1)}


def _log(store: Store, answer: Answer, keep: bool) -> None:
    if not keep or not store.settings.flag("recall.log"):
        return
    ids = tuple(recalled.lore.id for recalled in answer.lore)
    scores = tuple(recalled.score.total for recalled in answer.lore)
    now = store.clock.now().timestamp()
    entry = Retrieval(
        now, store.caller.session, answer.query, answer.strategy, answer.strength, ids, scores, answer.took_ms
    )
    try:
        store.state.log(entry)
    except (StoreError, OSError, sqlite3.Error):
        store.degraded.append("the retrieval log cannot be written")
