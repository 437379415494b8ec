"""Automatic recall: only strong matches, whole, each once a session, within a token budget."""

from __future__ import annotations

from math import log
from types import MappingProxyType

from engram.adapters.state.database import NOWHERE
from engram.adapters.state.hook_memory import NAMED, RECALLED, HookMemory
from engram.domain.agents import command_signals, fence
from engram.domain.agents.framing import Fitted, frame, name_of
from engram.domain.agents.prompt_intent import threshold_for
from engram.domain.entry.note_markup import RULES_TAG
from engram.domain.recall import ranking
from engram.domain.recall.budget import WHOLE, tokens
from engram.domain.similarity.distinct_texts import distinct
from engram.domain.text.whole_words import first_words
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.agents import shown_entries
from engram.usecases.history.origin import effective_entry
from engram.usecases.index.index_query import query_index
from engram.usecases.opening.scopes import open_scope_of
from engram.usecases.recall import query as recall
from engram.usecases.recall import search
from engram.usecases.recall.passage_similarity import nearness
from engram.usecases.recall.query import Question, query
from engram.usecases.store import activity_log
from engram.usecases.store.activity_log import Withheld
from engram.usecases.store.learned_moments import note_shown
from engram.usecases.store.quarantine import load_active, without_quarantined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.adapters.index.index import Generation
    from engram.adapters.index.words import Words
    from engram.domain.entry.lore import Lore
    from engram.domain.recall.budget import Nearness
    from engram.usecases.recall.question import Answer, Recalled
    from engram.usecases.store.store import Store

NO_SCORES: Mapping[str, float] = MappingProxyType({})
MOST = 3
SHOWN_BEFORE, NO_ROOM = "shown before", "no room"
_MOST_HITS = 8  # some of which were shown before
_LONGEST_QUESTION = 2000
# What a lower threshold rises by for each e-fold of an entry's length above the usual: a long note contains a few words
# of any error by chance.
_RISE_WITH_LENGTH = 0.6
_SMALLEST_BUDGET = 60  # tokens: an entry and its frame
_ABOUT_FILES = f"status = 'active' AND {credit.AT_MOST} >= ? AND files != '' AND (expires_at IS NULL OR expires_at > ?) AND ("
_MOST_ABOUT_FILES = 20


def recall_for_text(
    store: Store,
    text: str,
    *,
    naming: Sequence[str] = (),
    above: bool = False,
    named: bool = False,
    bar: float = 1.0,
    sentences: Sequence[str] = (),
    spent: int = 0,
    moments: Sequence[str] = (),
) -> str:
    """Return the entries that answer a text strongly, framed; "" for none.

    `bar` is the threshold, as a share of the evidence that makes an answer strong. If no entry reaches it, the one of the
    `sentences` that an entry covers best is asked instead. With `naming` only entries that mention one of these names
    count. Entries that this session was shown before are left out; with `above` they are named if they answer best. With
    `named` the entries about things that the text names are included. `spent` are tokens of the budget that are already
    used. `moments` can be learned by an entry that helps.
    """
    text = first_words(text, _LONGEST_QUESTION)
    budget = int(store.settings.number("hooks.recall_budget")) - spent
    if not text.strip() or (spent and budget < _SMALLEST_BUDGET):
        return ""
    began = store.clock.nanoseconds()
    answer, hits = _ask(store, text, bar)
    if sentences and not hits and answer.strategy != recall.SCAN:
        sentence = _most_telling(store, sentences)
        answer, hits = _ask(store, sentence, threshold_for(sentence))
    most = MOST
    if naming:
        hits = [hit for hit in hits if _mentions_any(hit.lore, naming)]
    if named:
        from engram.usecases.agents.named_entities import find_named

        about_names = find_named(store, text)
        hits = [*about_names, *hits]
        most = max(MOST, len(about_names))
    strong = {hit.lore.id for hit in hits}
    weak = [*[hit.lore.id for hit in answer.lore if hit.lore.id not in strong], *answer.weak]
    elsewhere = {hit.lore.id: hit.scope for hit in hits if hit.scope != store.stand.scope}
    near = nearness(store, answer.query) if hits else None
    framed = frame_unseen(
        store,
        [hit.lore for hit in hits],
        budget,
        most=most,
        elsewhere=elsewhere,
        question=answer.query,
        near=near,
        above=above,
    )
    _mark(store, RECALLED, framed.shown)
    if moments:
        note_shown(store, framed.shown, moments)
    reason = "no index" if answer.strategy == recall.SCAN else "not strong"
    withheld = [*framed.withheld, *([Withheld(reason, tuple(weak[:_MOST_HITS]))] if weak else [])]
    scores = {hit.lore.id: hit.score.total for hit in hits}
    _log(store, text, framed, withheld, began, answer.strategy, answer.strength, scores)
    return framed.text


def _ask(store: Store, text: str, bar: float = 1.0) -> tuple[Answer, list[Recalled]]:
    """Return an answer and those of its hits that reach the threshold."""
    answer = query(store, Question(text, limit=_MOST_HITS, keep=False))
    hits = [] if answer.strategy == recall.SCAN else search.strong_hits(answer.lore, bar)
    return answer, [hit for hit in hits if search.sureness(hit) >= _bar_for(hit.lore, bar)]


def _most_telling(store: Store, sentences: Sequence[str]) -> str:
    """Return the sentence that an entry of this store covers best."""

    def share(words: Words, sentence: str) -> float:
        found = words.search(words.terms(sentence), 1)
        return max(found.scores.values(), default=0.0) / found.perfect if found.perfect else 0.0

    def ask(generation: Generation) -> str:
        return max(sentences, key=lambda sentence: share(generation.words, sentence))

    return query_index(store, ask)


def recall_for_files(store: Store, files: Sequence[str], *, above: bool = False) -> str:
    """Return the entries that name one of these files (paths as entries write them), framed; "" for none.

    Entries that this session was shown before are only named: once, with `above` each time.
    """
    if not files:
        return ""
    lowest = round(store.settings.number("recall.min_confidence") * 1000)
    names, ends = _spellings(files)
    whole = ["instr(char(10) || files || char(10), char(10) || ? || char(10))"] * len(names)
    matches = " OR ".join([*whole, *["instr(files || char(10), '/' || ? || char(10))"] * len(ends)])
    order = credit.order(store)
    values = [lowest, store.clock.now().timestamp(), *names, *ends, *order.values]

    def ask(generation: Generation) -> list[str]:
        tail = f"ORDER BY {order.sql}, id LIMIT {_MOST_ABOUT_FILES}"
        hits = generation.catalog.select(f"{_ABOUT_FILES}{matches})", values, tail)
        in_effect = credit.hits_in_effect(store, without_quarantined(store, hits))
        best = sorted(in_effect, key=lambda hit: (-hit.pinned, -hit.confidence, -hit.validation_count))
        return [hit.path for hit in best if hit.confidence >= lowest]

    began = store.clock.nanoseconds()
    budget, question = int(store.settings.number("hooks.recall_budget")), " ".join(files)
    found = load_active(store, query_index(store, ask))
    known = {lore.id for lore in found} & shown_entries.shown_keys(store)
    has_unnamed = not known <= HookMemory(store.state).marked(NAMED, store.caller.session)
    framed = frame_unseen(store, found, budget, question=question, above=above or has_unnamed)
    _mark(store, NAMED, {*known, *framed.shown})
    _mark(store, RECALLED, framed.shown)
    _log(store, question, framed, framed.withheld, began, "files", ranking.STRONG)
    return framed.text


def _bar_for(lore: Lore, bar: float) -> float:
    """Raise a threshold for a long entry."""
    return min(1.0, bar + _RISE_WITH_LENGTH * log(max(1.0, len(lore.content) / WHOLE)))


class FramedEntries(NamedTuple):
    """Entries framed for a session: the text, the ids of the entries in it, and those withheld, with reasons."""

    text: str = ""
    shown: tuple[str, ...] = ()
    withheld: tuple[Withheld, ...] = ()


def frame_unseen(
    store: Store,
    found: Sequence[Lore],
    budget: int,
    *,
    most: int = MOST,
    lead: str = "",
    elsewhere: Mapping[str, str] = NOWHERE,
    question: str = "",
    near: Nearness | None = None,
    above: bool = False,
) -> FramedEntries:
    """Frame the entries that are new to this session, at most `most`, within `budget` tokens, and mark them as shown.

    Rules that agents read anyway are left out. `above` names those that were shown before and come first in `found`;
    `elsewhere` has the scopes of entries of other stores, by id; `near` rates how near a text is to the question.
    """
    found = [lore for lore in found if RULES_TAG not in lore.tags]
    if not found or not HookMemory(store.state).is_on_disk:
        return FramedEntries()  # what was shown could not be remembered
    found = [found[place] for place in distinct([lore.content for lore in found])]
    known = shown_entries.shown_keys(store)
    new = [lore for lore in found if lore.id not in known]
    fitted = fit(store, new[:most], fence.room(budget, lead), elsewhere, question, near)
    items = shown_entries.mark(store, fitted.items)
    shown = {one.id for one in items}
    again = {lore.id for lore in found} & known | {one.id for one in fitted.items} - shown
    first = next((place for place, lore in enumerate(found) if lore.id not in again), len(found))
    text = fence.frame(
        items, lead, fitted.also, _refs_and_titles(store, found[:first][:most], elsewhere) if above else ()
    )
    no_room = [lore.id for lore in new[:most] if lore.id not in shown | again]
    reasons = (
        (SHOWN_BEFORE, sorted(again)),
        (NO_ROOM, no_room),
        (f"more than {most}", [lore.id for lore in new[most:]]),
    )
    withheld = tuple(Withheld(why, tuple(ids)) for why, ids in reasons if ids)
    return FramedEntries(text, tuple(one.id for one in items), withheld)


def _spellings(files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names by which an entry may mean these files: paths from any folder on, and ends of longer paths."""
    names: dict[str, None] = {}
    ends: dict[str, None] = {}
    for file in files:
        parts = file.split("/")
        is_distinctive = not command_signals.is_common_file(parts[-1])
        names |= dict.fromkeys("/".join(parts[at:]) for at in range(len(parts) - 1))
        if len(parts) == 1 or is_distinctive:
            names[parts[-1]] = None
        if len(parts) > 1 or is_distinctive:
            ends[file] = None
    return [*names], [*ends]


def _mentions_any(lore: Lore, names: Sequence[str]) -> bool:
    """Return whether an entry contains one of these names in its text or its files."""
    text = "\n".join((lore.content, *lore.files)).lower()
    return any(name.lower() in text for name in names if not command_signals.is_common_file(name))


def fit(
    store: Store,
    found: Sequence[Lore],
    budget: int,
    elsewhere: Mapping[str, str] = NOWHERE,
    question: str = "",
    near: Nearness | None = None,
) -> Fitted:
    """Frame entries for a fence within `budget` tokens, each with its session ref; see `frame_unseen`."""
    refs = _refs(store, found, elsewhere)
    rows = [
        (
            refs[lore.id],
            *effective_entry(open_scope_of(store, elsewhere.get(lore.id, store.places.scope)), lore),
        )
        for lore in found
    ]
    return frame(rows, budget, store.clock.now(), question, near, cost=fence.characters)


def _refs(store: Store, found: Sequence[Lore], elsewhere: Mapping[str, str]) -> dict[str, str]:
    if not found:
        return {}
    pairs, now = [(lore.id, lore.title) for lore in found], store.clock.now().timestamp()
    return store.session_state.surface(store.caller.session, pairs, now, elsewhere)


def _refs_and_titles(
    store: Store, found: Sequence[Lore], elsewhere: Mapping[str, str]
) -> list[tuple[str, str]]:
    refs = _refs(store, found, elsewhere)
    return [(refs[lore.id], name_of(lore.title, is_checked=False)) for lore in found]


def _mark(store: Store, kind: str, ids: Iterable[str]) -> None:
    """Mark what recall did with entries in this session; the agent is asked later about those RECALLED."""
    memory, now = HookMemory(store.state), store.clock.now().timestamp()
    for lore_id in ids:
        memory.mark(kind, store.caller.session, lore_id, now)


def _log(
    store: Store,
    text: str,
    framed: FramedEntries,
    withheld: Sequence[Withheld],
    began: int,
    strategy: str,
    strength: str,
    scores: Mapping[str, float] = NO_SCORES,
) -> None:
    """Write a line of the activity log, unless nothing matched at all."""
    if framed.shown or withheld:
        activity_log.note(
            store, activity_log.QUERY, query=text, strategy=strategy, strength=strength, ids=framed.shown,
            scores=[scores.get(one, 1.0) for one in framed.shown],
            took_ms=activity_log.milliseconds_since(store, began), tokens=tokens(framed.text), withheld=withheld,
        )  # fmt: skip
