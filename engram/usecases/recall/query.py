"""Recall: answer a question with ranked lore, session refs and reasons.

`query` lists the steps in order: choose the stores, search each, select the best candidates, expand them through the
graph, assign refs, write the log. A search degrades in steps that the answer names: hybrid → words (no embedding
model) → scan (no index).
"""

from __future__ import annotations

import contextlib
import sqlite3

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError
from engram.domain.entry.confidence import two_decimals
from engram.domain.errors import StoreError, UsageError, ValidationError
from engram.domain.recall import ranking
from engram.domain.recall.budget import CHARACTERS_PER_TOKEN
from engram.domain.scopes import SESSION
from engram.domain.similarity.distinct_texts import Distinct
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.refresh import refresh
from engram.usecases.opening import scopes
from engram.usecases.recall import search
from engram.usecases.recall.question import (
    HYBRID,
    MAX_QUERY,
    MAX_RESULTS,
    SCAN,
    STRATEGIES,
    WORDS,
    Answer,
    Question,
    Recalled,
    as_recalled,
    check_question,
    criteria_for,
)
from engram.usecases.store import activity_log
from engram.usecases.store.activity_log import Withheld
from engram.usecases.store.people import with_authors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.adapters.state.database import StateDatabase
    from engram.domain.entry.lore import Lore
    from engram.usecases.recall.search import Candidate, Criteria
    from engram.usecases.store.store import Store

    Found = tuple[str, Candidate]  # with the name of its scope

__all__ = ("HYBRID", "MAX_RESULTS", "SCAN", "WORDS", "Answer", "Question", "Recalled", "query")

_MAX_WEAK = 5  # ids in `Answer.weak`
_UNCALIBRATED = "what is called strong or weak was fitted to the bundled model; with '{}' it may be off"


class Search(NamedTuple):
    """A search of one store: its criteria, the strategy that worked, and the candidates, best first."""

    store: Store
    criteria: Criteria
    strategy: str
    candidates: list[Candidate]


class Weighting(NamedTuple):
    """The factor on the scores of a scope's entries, and the evidence they need beyond the usual bound."""

    weight: float
    threshold: float


def query(store: Store, question: Question) -> Answer:
    """Answer a question. An empty store, or one without relevant lore, gives an empty answer.

    Raises ValidationError or UsageError for an invalid question.
    """
    began = store.clock.nanoseconds()
    limit = check_question(store, question)
    with store.lock:
        notes: list[str] = []
        asked = _stores_to_ask(store, question, notes)
        for one in asked:
            notes += [_label(store, one, note) for note in one.notes]
        with _as_of(asked, question) as stores:
            searches = _search_stores(stores, question, limit, notes)
            shown, weak = _select(searches, limit, notes)
            if not shown and question.keep:
                notes += _withheld_for_confidence(stores, question, limit, searches)
        strategy = _weakest_strategy(searches, shown)
        if store.settings.flag("graph.hop") if question.hop is None else question.hop:
            from engram.usecases.recall.graph_expansion import expand

            shown = expand(asked, question, strategy, shown, limit)
        lore = _assign_refs(store, _with_authors(asked, shown), question.keep)
        notes += [_twins_note(hit) for hit in lore if hit.twins and hit.ref]
        for one in asked:
            one.asked_ns = store.clock.nanoseconds()
            notes += [_label(store, one, note) for note in one.degraded]
        took_ms = activity_log.milliseconds_since(store, began)
        answer = Answer(question.text, _strength_shown(lore), strategy, lore, took_ms, tuple(notes), weak)
        if question.keep:
            _log(store, asked, answer, question.budget)
        return answer


# Which stores


def _stores_to_ask(store: Store, question: Question, notes: list[str]) -> list[Store]:
    """Return the stores to query; only one with `as_of`, since a commit belongs to one repository."""
    if len(question.scopes) > 1 and question.as_of:
        raise UsageError("A query of the past takes one scope.", "Name one with --scope.")
    if question.as_of and not question.scopes:
        return [store]
    return scopes.stores_to_search(store, question.scopes, notes)


@contextlib.contextmanager
def _as_of(asked: Sequence[Store], question: Question) -> Iterator[Sequence[Store]]:
    """Yield the stores to search: those given, or the given one as it was at `as_of`."""
    if not question.as_of:
        yield asked
        return
    from engram.usecases.recall.past_store import store_as_of

    with contextlib.closing(store_as_of(asked[0], question.as_of)) as past:
        yield [past]


def _label(store: Store, other: Store, note: str) -> str:
    """Prefix a note with its scope unless that is the caller's own."""
    return note if other is store else f"{other.places.scope}: {note}"


# Search


def _search_stores(
    stores: Sequence[Store], question: Question, limit: int, notes: list[str]
) -> dict[str, Search]:
    """Search each store; return the searches by scope name.

    A store that fails becomes a note. Raises the first error if none could be searched.
    """
    found: dict[str, Search] = {}
    failure: Exception | None = None
    for store in stores:
        scope = store.places.scope
        own: list[str] = []
        try:
            if store is not stores[0]:
                store.borrow_embedder(stores[0])
            found[scope] = _search(store, question, limit, own)
        except ValidationError as error:  # e.g. a category that only another store has
            failure = failure or error
            continue
        except scopes.TROUBLE as error:
            failure = failure or error
            own.append(scopes.describe_omission(scope, error))
        if len(stores) == 1:
            notes += own
        else:
            notes += [note if note.startswith(scope) else f"{scope}: {note}" for note in own]
    if not found and failure is not None:
        raise failure
    return found


def _search(store: Store, question: Question, limit: int, notes: list[str]) -> Search:
    """Search one store; repeat the search if a file about to be shown changed unnoticed."""
    # Refresh first: entries from a plain `git pull` may have to go into quarantine.
    is_behind = _refresh(store, notes)
    criteria = criteria_for(store, question)
    strategy, found = _find_candidates(store, question, criteria, limit, notes)
    if is_behind and strategy != SCAN:
        return Search(store, criteria, strategy, _with_changed(store, question, criteria, found, limit))
    changed = search.changed_paths(store, found[:limit])
    if changed and strategy != SCAN:
        with contextlib.suppress(IndexUnavailableError):
            refresh(store, paths=changed)
            strategy, found = _find_candidates(store, question, criteria, limit, notes)
    return Search(store, criteria, strategy, found)


def _refresh(store: Store, notes: list[str]) -> bool:
    """Refresh the index, or add a note on what prevented it; return whether it could not be written."""
    try:
        if not refresh(store, thorough=False).fresh:
            notes.append("another process is rebuilding the index: the newest changes may be missing")
    except IndexUnavailableError as error:
        notes.append(error.message)
        return True
    return False


def _with_changed(
    store: Store, question: Question, criteria: Criteria, found: Sequence[Candidate], limit: int
) -> list[Candidate]:
    """Merge the candidates from the index with those of a scan of the files changed since the index was last written.

    Otherwise an entry recorded on a full disk would stay unknown until there is room.
    """
    from engram.usecases.index.file_scan import sweep

    generation = store.index.generation
    if generation is None:
        return list(found)
    changed = sweep(store, generation, store.clock.nanoseconds())
    unchanged = [hit for hit in found if hit.path not in changed.files and hit.path not in changed.gone]
    text = question.text[:MAX_QUERY]
    return search.sort_by_score([*unchanged, *search.scan_files(store, text, criteria, limit, changed.files)])


def _find_candidates(
    store: Store, question: Question, criteria: Criteria, limit: int, notes: list[str]
) -> tuple[str, list[Candidate]]:
    """Search by the best strategy that works; add a note for each fallback. Rebuild a damaged index once."""
    text = question.text[:MAX_QUERY]
    for _ in (1, 2):
        generation = store.index.generation or store.index.look()  # just refreshed
        if generation is None or question.strategy == SCAN:
            break
        embedder = store.embedder if question.strategy == HYBRID else None
        meaning = embedder is not None
        try:
            found = search.search_index(store, generation, text, criteria, limit, meaning=meaning)
        except DamagedIndexError as error:
            store.index.mark_damaged(str(error))
            notes.append(f"the index was damaged ({error}) and is rebuilt")
        except EmbeddingError as error:
            store.give_up_meaning(error)
        else:
            if embedder is not None and embedder.trust is None:
                notes.append(_UNCALIBRATED.format(embedder.name))
            return (HYBRID if meaning else WORDS), found
        try:
            refresh(store)
        except IndexUnavailableError as error:
            notes.append(error.message)
    return SCAN, search.scan_files(store, text, criteria, limit)


# Selection


def _select(
    searches: Mapping[str, Search], limit: int, notes: list[str]
) -> tuple[list[Recalled], tuple[str, ...]]:
    """Return the best candidates of all scopes, read from their files, and the ids of the best that are too weak.

    An entry that is in several scopes is shown from the one that ranks it highest.
    """
    found = [(scope, hit) for scope, one in searches.items() for hit in one.candidates]
    weightings = {
        scope: Weighting(one.store.scope.weight, one.store.settings.number(ranking.THRESHOLD_KEY))
        for scope, one in searches.items()
    }
    best = best_first(found, weightings)
    read: dict[str, tuple[str, Candidate, Lore]] = {}
    twins: dict[str, tuple[str, ...]] = {}
    seen, distinct_ids = Distinct(), list[str]()
    for scope, hit in best:
        if len(read) == limit:
            break
        store, criteria, _, _ = searches[scope]
        try:
            lore = None if hit.id in read else search.read_candidate(store, criteria, hit)
        except scopes.TROUBLE as error:
            notes.append(scopes.describe_omission(scope, error))
            continue
        if lore is None:
            continue
        twin = seen.twin_of(lore.content)
        if twin is None:
            read[hit.id] = scope, hit, lore
            distinct_ids.append(hit.id)
        else:
            shown_id = distinct_ids[twin]
            twins[shown_id] = (*twins.get(shown_id, ()), hit.id)
    by_id: dict[str, Recalled] = {}
    for scope, one in searches.items():
        of_scope = [(hit, lore) for own, hit, lore in read.values() if own == scope]
        by_id |= {hit.lore.id: hit for hit in as_recalled(one.store, of_scope)}
    shown = [by_id[lore_id]._replace(twins=twins.get(lore_id, ())) for lore_id in read]
    strong = {hit.id for _, hit in best}
    near = [hit.id for one in searches.values() for hit in one.candidates[: max(limit, _MAX_WEAK)]]
    weak = [lore_id for lore_id in near if lore_id not in strong]
    return shown, tuple(weak[:_MAX_WEAK])


def _withheld_for_confidence(
    stores: Sequence[Store], question: Question, limit: int, searches: Mapping[str, Search]
) -> list[str]:
    """Return a note if an empty answer is due to the minimum confidence; no notes otherwise."""
    lowest = min((one.criteria.where.min_confidence for one in searches.values()), default=0)
    if lowest <= 0:
        return []
    shown, _ = _select(_search_stores(stores, question._replace(min_confidence=0), limit, []), limit, [])
    if not shown:
        return []
    bound = two_decimals(lowest)
    if len(shown) == 1:
        return [
            f"one entry that answers has a confidence below {bound} and is left out: ask for less to see it"
        ]
    return [
        f"{len(shown)} entries that answer have a confidence below {bound} and are left out: ask for less to see them"
    ]


def best_first(found: Sequence[Found], weightings: Mapping[str, Weighting]) -> Sequence[Found]:
    """Return the candidates with enough evidence, ordered by weighted score; none if nothing answers."""
    evidence = [search.evidence(hit) for _, hit in found]
    if search.strength_of([hit for _, hit in found], evidence) == ranking.NONE:
        return []
    strong = [
        (scope, hit)
        for (scope, hit), amount in zip(found, evidence, strict=True)
        if amount >= ranking.bounds(hit.score.cosine).shown + weightings[scope].threshold
    ]
    if len(weightings) > 1:  # one scope is sorted already
        strong.sort(key=lambda one: (-round(one[1].score.total * weightings[one[0]].weight, 6), one[1].id))
    return strong


def _weakest_strategy(searches: Mapping[str, Search], shown: Sequence[Recalled]) -> str:
    """Return the weakest strategy that found any of the shown entries."""
    used = [searches[hit.scope].strategy for hit in shown] or [one.strategy for one in searches.values()][:1]
    return max(used, key=STRATEGIES.index, default=STRATEGIES[0])


def _strength_shown(shown: Sequence[Recalled]) -> str:
    """Return the strength of the entries shown; weak if only the graph led to them."""
    level = search.strength_of(shown)
    return ranking.WEAK if level == ranking.NONE and shown else level


# Names, refs and log


def _with_authors(asked: Sequence[Store], shown: Sequence[Recalled]) -> list[Recalled]:
    """Return the hits with the authors of their entries, where the history of their stores knows them."""
    if all(hit.lore.author for hit in shown):
        return list(shown)
    known = {
        (one.places.scope, lore.id): lore
        for one in asked
        for lore in with_authors(one, [hit.lore for hit in shown if hit.scope == one.places.scope])
    }
    return [hit._replace(lore=known[hit.scope, hit.lore.id]) for hit in shown]


def _assign_refs(store: Store, shown: Sequence[Recalled], keep: bool) -> tuple[Recalled, ...]:
    """Return the hits with their session refs, numbered across all scopes."""
    if not keep or not shown:
        return tuple(shown)
    here = store.stand.scope
    pairs = [(hit.lore.id, hit.lore.title) for hit in shown]
    elsewhere = {hit.lore.id: hit.scope for hit in shown if hit.scope != here}
    now = store.clock.now().timestamp()
    try:
        refs = store.session_state.surface(store.caller.session, pairs, now, elsewhere)
    except (StoreError, OSError, sqlite3.Error):
        refs = {lore_id: f"L{number}" for number, (lore_id, _) in enumerate(pairs, 1)}
    return tuple([hit._replace(ref=refs[hit.lore.id]) for hit in shown])


def _twins_note(hit: Recalled) -> str:
    """Return the note that other entries say the same as this one; `engram review` merges them."""
    more = len(set(hit.twins))
    return f"{hit.ref}: and {more} that {'says' if more == 1 else 'say'} the same"


def _log(store: Store, asked: Sequence[Store], answer: Answer, budget: int | None) -> None:
    """Log the answer in the caller's state, and each other scope's part of it in that scope's state."""
    _log_in(store, store.session_state, answer, answer.lore, budget)
    places = {one.state.path: one for one in asked if one.places.scope != SESSION}
    places.pop(store.session_state.path, None)
    for one in places.values():
        own = tuple([hit for hit in answer.lore if hit.scope == one.places.scope])
        if own:
            _log_in(store, one.state, answer, own, budget)


def _log_in(
    store: Store, state: StateDatabase, answer: Answer, lore: Sequence[Recalled], budget: int | None
) -> None:
    shown = sum([len(hit.lore.content) for hit in lore]) // CHARACTERS_PER_TOKEN
    activity_log.note(
        store,
        activity_log.QUERY,
        state=state,
        query=answer.query,
        strategy=answer.strategy,
        strength=answer.strength,
        ids=[hit.lore.id for hit in lore],
        scores=[hit.score.total for hit in lore],
        took_ms=answer.took_ms,
        tokens=shown if budget is None else min(shown, budget),
        withheld=(Withheld("too weak", answer.weak),) if answer.weak else (),
    )
