"""Entries with a moment that an event matches: shown whole, once a session, before search results.

Moments are stated in the files of entries (`when:`), or were learned in this clone; captured entries have learned ones.
"""

from __future__ import annotations

import contextlib
import sqlite3

from engram.adapters.state.hook_memory import MOMENT, RECALLED, SHOWN, HookMemory
from engram.domain.entry.note_markup import RULES_TAG
from engram.domain.errors import StoreError
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission import credit
from engram.usecases.index.index_query import consult
from engram.usecases.opening import scopes
from engram.usecases.store import activity_log, learned_moments
from engram.usecases.store.quarantine import load_active, without_quarantined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.domain.agents.moment_match import Event
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

    Learned = Mapping[str, list[str]]  # moments by the id of an entry

STRATEGY = "moment"  # in the activity log
LEAD = "Recorded for this moment:"
MOST = 3  # entries at one event
_ATTACHES_RULES = "cursor"  # puts rules before its model itself when a file fits their globs
_FRAME = 50  # tokens of Engram's own around an entry, at most
_MOST_LEARNED = 500  # entries with learned moments: those captured last
_STATED = "\"when\" != ''"
_USABLE = "status = 'active' AND (expires_at IS NULL OR expires_at > ?)"


def at_moment(store: Store, make_event: Callable[[], Event]) -> str:
    """Return the entries whose moment an event is and that this session was not brought for it, framed; "" for none.

    The event is made only where an entry has a moment.
    """
    known = [(one, learned_moments.list_learned(one)) for one in scopes.stores_to_ask(store, (), [])]
    known = [(one, lines) for one, lines in known if lines or one.index.may_have_moments(one.places.root)]
    if not known:
        return ""
    event = make_event()
    captured = _recall_captured(store, event, next((lines for one, lines in known if one is store), {}))
    return "\n".join(part for part in (_of_entries(store, event, known), captured) if part)


def _of_entries(store: Store, event: Event, known: Sequence[tuple[Store, Learned]]) -> str:
    """Return the active entries whose moment an event is, framed; `known` are the stores, each with what was learned there."""
    began = store.clock.nanoseconds()
    memory = HookMemory(store.state)
    found: list[Lore] = []
    elsewhere: dict[str, str] = {}
    for one, lines in known:
        fits = _fitting(one, event, lines)
        if store.caller.agent == _ATTACHES_RULES:
            fits = [lore for lore in fits if RULES_TAG not in lore.tags]
        found += fits
        elsewhere |= {lore.id: one.places.scope for lore in fits if one is not store}
    if not found or not memory.is_on_disk:  # nobody would know that they were shown
        return ""
    chosen = _first_time(store, memory, found)
    if not chosen:
        return ""
    from engram.domain.agents import fence
    from engram.usecases.agents.auto_recall import fit

    # What is escaped is longer.
    whole = sum(2 * tokens(lore.content) for lore in chosen) + _FRAME * (len(chosen) + 1)
    budget = max(int(store.settings.number("hooks.recall_budget")), whole)
    framed = fence.frame(fit(store, chosen, fence.room(budget, LEAD), elsewhere).items, LEAD)
    activity_log.note(
        store, activity_log.QUERY, query=_words(event), strategy=STRATEGY, strength="strong",
        ids=[lore.id for lore in chosen], scores=[1.0] * len(chosen),
        took_ms=activity_log.milliseconds_since(store, began), tokens=tokens(framed),
    )  # fmt: skip
    return framed


def _recall_captured(store: Store, event: Event, learned: Learned) -> str:
    """Return the captured entries whose learned moment an event is and that this session was not shown, framed."""
    if not learned:
        return ""
    from engram.usecases.agents.captured_notes import frame_captured
    from engram.usecases.recall.captured_recall import waiting

    found = {lore.id: lore for lore in waiting(store) if lore.id in learned}
    fits = _without_common(store, event, {lore_id: learned[lore_id] for lore_id in found}, is_new=False)
    return frame_captured(store, [found[lore_id] for lore_id in fits], _words(event))


def _fitting(store: Store, event: Event, learned: Learned) -> list[Lore]:
    """Return the active entries of one store with a moment that the event fits and that counts here, the best first."""

    from engram.domain.agents.moment_match import fitting

    def ask(generation: Generation) -> list[str]:
        now, ids = store.clock.now().timestamp(), [*learned][-_MOST_LEARNED:]
        condition = f"({_STATED} OR id IN ({','.join('?' * len(ids))})) AND {_USABLE}"
        hits = generation.catalog.select(condition, [*ids, now])
        fits = [hit for hit in hits if fitting(event, _lines(hit, learned))]
        counted = credit.hits_in_effect(store, without_quarantined(store, fits))
        moments = {hit.id: _lines(hit, learned) for hit in counted}
        wanted = _without_common(store, event, moments, is_new=not event.error)
        fits = [hit for hit in counted if hit.id in wanted]
        return [hit.path for hit in sorted(fits, key=lambda hit: (-hit.pinned, -hit.confidence, hit.id))]

    try:
        return load_active(store, consult(store, ask))
    except (StoreError, OSError, sqlite3.Error):  # without an index what is found by words may still come
        return []


def _lines(hit: Hit, learned: Learned) -> list[str]:
    return [*(hit.when.split("\n") if hit.when else ()), *learned.get(hit.id, ())]


def _without_common(
    store: Store, event: Event, moments: Mapping[str, Sequence[str]], *, is_new: bool
) -> list[str]:
    """Count the event and return the entries with a moment that it fits and that is not one of too many events.

    `moments` are those of the entries by id; `is_new` says that the event was not counted yet.
    """
    from engram.adapters.state.moment_counts import MomentCounts
    from engram.domain.agents.moment_match import Event, fitting

    fits = {lore_id: found for lore_id, lines in moments.items() if (found := fitting(event, lines))}
    if not store.settings.flag("recall.log"):
        return [*fits]
    # An error is the second event of one call: its files and commands were counted before the call.
    told = Event(error=event.error) if event.error else event
    counts, common = MomentCounts(store.state), set[str]()
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        lines = [line for found in fits.values() for line in fitting(told, found)]
        counts.count(list(dict.fromkeys(lines)), is_new=is_new)
        common = {one.line for one in counts.common()} if lines else set()
    return [lore_id for lore_id, lines in fits.items() if not common.issuperset(lines)]


def _first_time(store: Store, memory: HookMemory, found: Sequence[Lore]) -> list[Lore]:
    """Return those that come at their moment for the first time in this session, as many as fit, but one at least.

    They count as shown from now on.
    """
    session, now = store.caller.session, store.clock.now().timestamp()
    left = store.settings.number("hooks.recall_budget")
    chosen: list[Lore] = []
    for lore in found:
        size = tokens(lore.content)
        if len(chosen) == MOST or (chosen and size > left):
            break
        if memory.mark(MOMENT, session, lore.id, now):
            memory.mark(SHOWN, session, lore.id, now)
            memory.mark(RECALLED, session, lore.id, now)
            chosen.append(lore)
            left -= size
    return chosen


def _words(event: Event) -> str:
    """Return an event as the activity log names it: by program and subcommand, file or tool, never a whole command line."""
    commands = (f"{one.program} {one.subcommand}".strip() for one in event.commands)
    return " ".join(dict.fromkeys([event.tool, *commands, *event.files[:4]])).strip()[:200]
