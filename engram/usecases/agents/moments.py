"""Entries whose moment an event is (`when:` in their files): brought whole, once a session, before what is found by words."""

from __future__ import annotations

import contextlib
import sqlite3

from engram.adapters.state.hook_memory import MOMENT, RECALLED, SHOWN, HookMemory
from engram.domain.errors import StoreError
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission import credit
from engram.usecases.index.index_query import consult
from engram.usecases.opening import scopes
from engram.usecases.store import activity_log
from engram.usecases.store.quarantine import loaded, without_quarantined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.domain.agents.moment_match import Event
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

STRATEGY = "moment"  # in the activity log
LEAD = "Recorded for this moment:"
MOST = 3  # entries at one event
_FRAME = 50  # tokens of Engram's own around an entry, at most
_WITH_MOMENTS = "\"when\" != '' AND status = 'active' AND (expires_at IS NULL OR expires_at > ?)"


def at_moment(store: Store, make_event: Callable[[], Event]) -> str:
    """Return the entries whose moment an event is and that this session was not brought for it, framed; "" for none.

    The event is made only where an entry has a moment.
    """
    asked = [one for one in scopes.asked(store, (), []) if one.index.may_have_moments(one.places.root)]
    if not asked:
        return ""
    event = make_event()
    began = store.clock.nanoseconds()
    memory = HookMemory(store.state)
    found: list[Lore] = []
    elsewhere: dict[str, str] = {}
    for one in asked:
        fits = _fitting(one, event)
        found += fits
        elsewhere |= {lore.id: one.places.scope for lore in fits if one is not store}
    if not found or not memory.is_on_disk:  # nobody would know that they were shown
        return ""
    chosen = _first_time(store, memory, found)
    if not chosen:
        return ""
    from engram.domain.agents import fence
    from engram.usecases.agents.auto_recall import fit

    whole = sum(2 * tokens(lore.content) for lore in chosen) + _FRAME * (
        len(chosen) + 1
    )  # what is escaped is longer
    budget = max(int(store.settings.number("hooks.recall_budget")), whole)
    said = fence.frame(fit(store, chosen, fence.room(budget, LEAD), elsewhere).items, LEAD)
    activity_log.note(
        store, activity_log.QUERY, query=_words(event), strategy=STRATEGY, strength="strong",
        ids=[lore.id for lore in chosen], scores=[1.0] * len(chosen),
        took_ms=activity_log.milliseconds_since(store, began), tokens=tokens(said),
    )  # fmt: skip
    return said


def _fitting(store: Store, event: Event) -> list[Lore]:
    """Return the active entries of one store with a moment that the event fits and that counts here, the best first."""

    from engram.domain.agents.moment_match import fitting

    def ask(generation: Generation) -> list[str]:
        hits = generation.catalog.select(_WITH_MOMENTS, [store.clock.now().timestamp()])
        fits = [hit for hit in hits if fitting(event, hit.when.split("\n"))]
        counted = credit.hits_in_effect(store, without_quarantined(store, fits))
        fits = _without_common(store, event, [hit for hit in counted if hit.when])
        return [hit.path for hit in sorted(fits, key=lambda hit: (-hit.pinned, -hit.confidence, hit.id))]

    try:
        return loaded(store, consult(store, ask))
    except (StoreError, OSError, sqlite3.Error):  # without an index what is found by words may still come
        return []


def _without_common(store: Store, event: Event, hits: Sequence[Hit]) -> list[Hit]:
    """Count the event and return the entries with a moment that it fits and that is not one of too many events."""
    from engram.adapters.state.moment_counts import MomentCounts
    from engram.domain.agents.moment_match import Event, fitting

    if not store.settings.flag("recall.log"):
        return list(hits)
    # An error is the second event of one call: its files and commands were counted before the call.
    told = Event(error=event.error) if event.error else event
    counts, common = MomentCounts(store.state), set[str]()
    fits = {hit.id: fitting(event, hit.when.split("\n")) for hit in hits}
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        lines = [line for found in fits.values() for line in fitting(told, found)]
        counts.count(list(dict.fromkeys(lines)), is_new=not event.error)
        common = {one.line for one in counts.common()} if lines else set()
    return [hit for hit in hits if not common.issuperset(fits[hit.id])]


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
