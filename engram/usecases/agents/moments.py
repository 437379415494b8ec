"""Show entries whose moment an event matches: whole, once a session, before search results.

Moments are stated in the files of entries (`when:`) or learned in this clone; captured entries have only learned ones.
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
from engram.usecases.index.index_query import query_index
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
_ATTACHES_RULES = "cursor"  # adds rules to its prompt itself when a file matches their globs
_FRAME = 50  # tokens: an upper bound of the frame around an entry
_MOST_LEARNED = 500  # entries with learned moments that are looked at, the latest
_STATED = "\"when\" != ''"
_USABLE = "status = 'active' AND (expires_at IS NULL OR expires_at > ?)"


def recall_at_moment(store: Store, make_event: Callable[[], Event]) -> str:
    """Return the entries whose moment an event matches and that are new to this session, framed; "" for none.

    The event is only made if an entry has a moment.
    """
    stores = [(one, learned_moments.list_learned(one)) for one in scopes.stores_to_search(store, (), [])]
    stores = [(one, lines) for one, lines in stores if lines or one.index.may_have_moments(one.places.root)]
    if not stores:
        return ""
    event = make_event()
    captured = _recall_captured(store, event, next((lines for one, lines in stores if one is store), {}))
    return "\n".join(part for part in (_recall_active(store, event, stores), captured) if part)


def _recall_active(store: Store, event: Event, stores: Sequence[tuple[Store, Learned]]) -> str:
    """Return the active entries whose moment an event matches, framed; `stores` come with their learned moments."""
    began = store.clock.nanoseconds()
    memory = HookMemory(store.state)
    found: list[Lore] = []
    elsewhere: dict[str, str] = {}
    for one, lines in stores:
        matches = _find_active(one, event, lines)
        if store.caller.agent == _ATTACHES_RULES:
            matches = [lore for lore in matches if RULES_TAG not in lore.tags]
        found += matches
        elsewhere |= {lore.id: one.places.scope for lore in matches if one is not store}
    if not found or not memory.is_on_disk:  # what was shown could not be remembered
        return ""
    chosen = _mark_unseen(store, memory, found)
    if not chosen:
        return ""
    from engram.domain.agents import fence
    from engram.usecases.agents.auto_recall import fit

    # Twice the tokens, since escaping makes a text longer.
    whole = sum(2 * tokens(lore.content) for lore in chosen) + _FRAME * (len(chosen) + 1)
    budget = max(int(store.settings.number("hooks.recall_budget")), whole)
    framed = fence.frame(fit(store, chosen, fence.room(budget, LEAD), elsewhere).items, LEAD)
    activity_log.note(
        store, activity_log.QUERY, query=_describe(event), strategy=STRATEGY, strength="strong",
        ids=[lore.id for lore in chosen], scores=[1.0] * len(chosen),
        took_ms=activity_log.milliseconds_since(store, began), tokens=tokens(framed),
    )  # fmt: skip
    return framed


def _recall_captured(store: Store, event: Event, learned: Learned) -> str:
    """Return the captured entries whose learned moment an event matches and that are new to this session, framed."""
    if not learned:
        return ""
    from engram.usecases.agents.captured_notes import frame_captured
    from engram.usecases.recall.captured_recall import list_unreviewed

    found = {lore.id: lore for lore in list_unreviewed(store) if lore.id in learned}
    matches = _without_common(store, event, {lore_id: learned[lore_id] for lore_id in found}, is_new=False)
    return frame_captured(store, [found[lore_id] for lore_id in matches], _describe(event))


def _find_active(store: Store, event: Event, learned: Learned) -> list[Lore]:
    """Return the active entries of one store with a moment that the event matches and that is in effect, the best first."""
    from engram.domain.agents.moment_match import match_moments

    def ask(generation: Generation) -> list[str]:
        now, ids = store.clock.now().timestamp(), [*learned][-_MOST_LEARNED:]
        condition = f"({_STATED} OR id IN ({','.join('?' * len(ids))})) AND {_USABLE}"
        hits = generation.catalog.select(condition, [*ids, now])
        matches = [hit for hit in hits if match_moments(event, _moments_of(hit, learned))]
        in_effect = credit.hits_in_effect(store, without_quarantined(store, matches))
        moments = {hit.id: _moments_of(hit, learned) for hit in in_effect}
        wanted = _without_common(store, event, moments, is_new=not event.error)
        matches = [hit for hit in in_effect if hit.id in wanted]
        return [hit.path for hit in sorted(matches, key=lambda hit: (-hit.pinned, -hit.confidence, hit.id))]

    try:
        return load_active(store, query_index(store, ask))
    except (StoreError, OSError, sqlite3.Error):  # a search without an index may still find entries
        return []


def _moments_of(hit: Hit, learned: Learned) -> list[str]:
    return [*(hit.when.split("\n") if hit.when else ()), *learned.get(hit.id, ())]


def _without_common(
    store: Store, event: Event, moments: Mapping[str, Sequence[str]], *, is_new: bool
) -> list[str]:
    """Count the event, and return the ids of entries with a moment that it matches and that is not too common.

    `moments` are those of the entries by id; `is_new` says that the event was not counted yet.
    """
    from engram.adapters.state.moment_counts import MomentCounts
    from engram.domain.agents.moment_match import Event, match_moments

    matches = {lore_id: found for lore_id, lines in moments.items() if (found := match_moments(event, lines))}
    if not store.settings.flag("recall.log"):
        return [*matches]
    # An error is the second event of a call, whose files and commands were counted before.
    counted = Event(error=event.error) if event.error else event
    counts, common = MomentCounts(store.state), set[str]()
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        lines = [line for found in matches.values() for line in match_moments(counted, found)]
        counts.count(list(dict.fromkeys(lines)), is_new=is_new)
        common = {one.line for one in counts.common()} if lines else set()
    return [lore_id for lore_id, lines in matches.items() if not common.issuperset(lines)]


def _mark_unseen(store: Store, memory: HookMemory, found: Sequence[Lore]) -> list[Lore]:
    """Return the entries that are new to this session, at least one and as many as fit, and mark them as shown."""
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


def _describe(event: Event) -> str:
    """Describe an event for the activity log: by program and subcommand, file or tool, never by the whole command line."""
    commands = (f"{one.program} {one.subcommand}".strip() for one in event.commands)
    return " ".join(dict.fromkeys([event.tool, *commands, *event.files[:4]])).strip()[:200]
