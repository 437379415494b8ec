"""Recall: the lore that answers a question, ranked, with session refs and reasons.

Degrades in steps that the result names: hybrid → words (no embedding model) → scan (no index).
"""

from __future__ import annotations

import contextlib
import sqlite3

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError
from engram.domain.entry.categories import parse_types
from engram.domain.entry.validation import MAX_ITEMS, check_fraction, check_text
from engram.domain.errors import StoreError, UsageError
from engram.domain.recall import ranking, strength
from engram.domain.recall.budget import CHARACTERS_PER_TOKEN
from engram.domain.scopes import SESSION
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.index.refresh import refresh
from engram.usecases.opening import scopes
from engram.usecases.recall import search
from engram.usecases.recall.search import Candidate, Filters
from engram.usecases.store import activity_log, quarantine
from engram.usecases.store.activity_log import Withheld

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.state.database import StateDatabase
    from engram.domain.admission.credit import Counted
    from engram.domain.entry.lore import Lore
    from engram.domain.recall.ranking import Score
    from engram.usecases.store.store import Store

HYBRID, WORDS, SCAN = STRATEGIES = ("hybrid", "words", "scan")
MAX_QUERY = 20_000
MAX_RESULTS = 100
MOST_WEAK = 5  # ids of what was too weak to be shown that are written down


class Question(NamedTuple):
    """A query as every front end asks it. `None` means: as configured. `files` are the caller's, as a preference.

    `hop` adds lore about entities that the question or the best of the answer name.
    `keep` gives refs and a line in the live record; `budget` is about how many tokens of the answer the caller shows,
    for that line. `as_of` asks the store of a commit or date. `scopes` names
    those to ask; by default all that there are, or the one that the store was opened by name as. `agents`, `since` and
    `until` as in `Filters`.
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
    scopes: tuple[str, ...] = ()
    budget: int | None = None
    hop: bool | None = None
    agents: tuple[str, ...] = ()
    since: float = float("-inf")
    until: float = float("inf")


class Recalled(NamedTuple):
    """One lore of an answer: its short name in the session, the lore, where it is, and why it is here.

    `via` is the entity over which it came, if it is one step away; `counted` is what its claims come to here.
    """

    ref: str
    lore: Lore
    path: str
    score: Score
    scope: str
    counted: Counted
    via: str = ""


class Answer(NamedTuple):
    """The lore that answer a query, best first. `notes` say what was degraded; `took_ms` is the whole time.

    `weak` are the ids of lore that came near and were too weak to be shown, the best few.
    """

    query: str
    strength: str
    strategy: str
    lore: tuple[Recalled, ...]
    took_ms: float
    notes: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()

    @property
    def session_refs(self) -> dict[str, str]:
        """`L1` → id of each lore shown."""
        return {recalled.ref: recalled.lore.id for recalled in self.lore}


def query(store: Store, question: Question) -> Answer:
    """Answer a question. An empty store or no relevant lore is an empty answer, not an error.

    Raises ValidationError, UsageError for a bad question.
    """
    began = store.clock.nanoseconds()
    limit = _checked(store, question)
    with store.lock:
        notes: list[str] = []
        asked = _asked(store, question, notes)
        for one in asked:
            notes += [_named(store, one, note) for note in one.notes]
        if len(asked) == 1:
            strategy, shown, weak = _recall(asked[0], question, limit, notes)
        else:
            from engram.usecases.recall.query_scopes import recall_from

            strategy, shown, weak = recall_from(asked, question, limit, notes)
        if store.settings.flag("graph.hop") if question.hop is None else question.hop:
            from engram.usecases.recall.graph_expansion import with_hops

            shown = with_hops(asked, question, strategy, shown, limit)
        lore = _surface(store, shown, question.keep)
        for one in asked:
            one.asked_ns = store.clock.nanoseconds()
            notes += [_named(store, one, note) for note in one.degraded]
        took_ms = activity_log.milliseconds_since(store, began)
        answer = Answer(question.text, _strength_shown(lore), strategy, lore, took_ms, tuple(notes), weak)
        if question.keep:
            _log(store, asked, answer, question.budget)
        return answer


def _named(store: Store, other: Store, note: str) -> str:
    """A note of one of the stores that were asked."""
    return note if other is store else f"{other.places.scope}: {note}"


def _asked(store: Store, question: Question, notes: list[str]) -> list[Store]:
    """The stores to ask. The past is asked of one: a commit is a commit of one repository."""
    if len(question.scopes) > 1 and question.as_of:
        raise UsageError("The past can be asked of one scope at a time.", "Name one with --scope.")
    if question.as_of and not question.scopes:
        return [store]
    return scopes.asked(store, question.scopes, notes)


def _recall(
    store: Store, question: Question, limit: int, notes: list[str]
) -> tuple[str, list[Recalled], tuple[str, ...]]:
    """The strategy that worked, what it found, and what was too weak, from the store as it is or as it was."""
    source = store
    if question.as_of:
        from engram.usecases.recall.as_of import store_as_of

        source = store_as_of(store, question.as_of)
    try:
        notes += refreshed(source)  # first: what came in by a plain `git pull` may have to wait
        filters = filters_for(source, question)
        if source is not store:
            filters = filters._replace(held=quarantine.quarantined_texts(store, whole=True))
        strategy, found = candidates(source, question, filters, limit, notes)
        kept = worth_showing(found, source.settings.number(ranking.THRESHOLD_KEY))
        shown = [recalled(source, hit, lore) for hit, lore in read_shown(source, filters, kept, limit)]
        strong = {hit.path for hit in kept}
        weak = [hit.id for hit in found[: max(limit, MOST_WEAK)] if hit.path not in strong]
        return strategy, shown, tuple(weak[:MOST_WEAK])
    finally:
        if source is not store:
            source.close()


def candidates(
    store: Store, question: Question, filters: Filters, limit: int, notes: list[str]
) -> tuple[str, list[Candidate]]:
    """The strategy that worked in one store, and its candidates, best first. Call it after `refreshed`.

    Once more where a file about to be shown changed without a trace in its folder.
    """
    strategy, found = _search(store, question, filters, limit, notes)
    changed = search.changed(store, found[:limit])
    if changed and strategy != SCAN:
        with contextlib.suppress(IndexUnavailableError):
            refresh(store, paths=changed)
            strategy, found = _search(store, question, filters, limit, notes)
    return strategy, found


def worth_showing(found: Sequence[Candidate], threshold: float = 0.0) -> list[Candidate]:
    """The candidates for which enough speaks beside the best one; none where nothing answers.

    `threshold` is how much more that has to be than usual.
    """
    spoken = [evidence(hit) for hit in found]
    if _strength(found, spoken) == strength.NONE:
        return []
    shown_from = strength.bounds(found[0].score.cosine).shown + threshold
    return [hit for hit, much in zip(found, spoken, strict=True) if much >= shown_from]


def read_shown(
    store: Store, filters: Filters, hits: Sequence[Candidate], limit: int
) -> list[tuple[Candidate, Lore]]:
    """What is shown of the hits, read from their files; without what came in since the search and waits."""
    shown = search.read(store, hits, limit)
    return [pair for pair in shown if not search.lore_waits(filters, pair[1])]


def recalled(store: Store, hit: Candidate, lore: Lore) -> Recalled:
    """A hit as it is shown, without a ref yet: its score weighed by the scope of its store."""
    weight, score = store.scope.weight, hit.score
    if weight != 1.0:
        score = score._replace(total=score.total * weight, scope=weight)
    return Recalled("", lore, hit.path, score, store.places.scope, credit.of(store, lore))


def strength_of(found: Sequence[Candidate | Recalled]) -> str:
    """The strength of an answer of these: that of the one for which most speaks."""
    return _strength(found, [evidence(hit) for hit in found])


def _strength_shown(shown: Sequence[Recalled]) -> str:
    """The same of what is shown: where that is only a step away, it is weak."""
    level = strength_of(shown)
    return strength.WEAK if level == strength.NONE and shown else level


def _strength(found: Sequence[Candidate | Recalled], spoken: Sequence[float]) -> str:
    """The same, from how much speaks for each."""
    levels = [
        strength.strength(much, strength.bounds(hit.score.cosine))
        for hit, much in zip(found, spoken, strict=True)
    ]
    return next((level for level in strength.STRENGTHS if level in levels), strength.NONE)


def evidence(hit: Candidate | Recalled) -> float:
    """How much speaks for a hit."""
    score = hit.score
    return strength.evidence(score.words, score.cosine, score.missing)


def _checked(store: Store, question: Question) -> int:
    """How many lore are wanted, after a look at everything that does not depend on a store. Raises UsageError."""
    check_text("query", question.text, MAX_QUERY * 10)
    if not question.text.strip():
        raise UsageError("The query is empty.", 'Say what you want to know: engram query "how do we retry"')
    if question.strategy not in STRATEGIES:
        raise UsageError(f"'{question.strategy}' is not a strategy.", f"Valid: {', '.join(STRATEGIES)}.")
    limit = int(store.settings.number("recall.limit")) if question.limit is None else question.limit
    if not 1 <= limit <= MAX_RESULTS:
        raise UsageError(f"k must be from 1 to {MAX_RESULTS}, not {limit}.")
    for field, words in (("tags", question.tags), ("files", question.files)):
        if len(words) > MAX_ITEMS:
            raise UsageError(
                f"{len(words):,} {field} are too many to ask for; at most {MAX_ITEMS} are looked at."
            )
        for word in words:
            check_text(field, word, MAX_QUERY)
    return limit


def filters_for(store: Store, question: Question) -> Filters:
    """What a lore of this store must fulfil. Raises ValidationError, for instance for a category it does not have."""
    lowest = question.min_confidence
    lowest = store.settings.number("recall.min_confidence") if lowest is None else lowest
    return Filters(
        round(check_fraction("min_confidence", lowest) * 1000),
        tuple(store.categories.parse(name) for name in question.categories),
        parse_types(question.types),
        question.tags,
        question.files,
        store.scope.horizon(store.clock.now().timestamp()),
        quarantine.quarantined_texts(store),
        agents=question.agents,
        since=question.since,
        until=question.until,
    )


def refreshed(store: Store) -> Sequence[str]:
    """Bring the index in step before a search; notes on what kept it from that."""
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


def _surface(store: Store, shown: Sequence[Recalled], keep: bool) -> tuple[Recalled, ...]:
    """The hits with their refs, one numbering for the session whatever scope they are from."""
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


def _log(store: Store, asked: Sequence[Store], answer: Answer, budget: int | None) -> None:
    """Note the answer where the caller stands, and what another scope gave also there: its lore were used."""
    _note(store, store.session_state, answer, answer.lore, budget)
    places = {one.state.path: one for one in asked if one.places.scope != SESSION}
    places.pop(store.session_state.path, None)
    for one in places.values():
        given = tuple([hit for hit in answer.lore if hit.scope == one.places.scope])
        if given:
            _note(store, one.state, answer, given, budget)


def _note(
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
