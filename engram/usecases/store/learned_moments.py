"""Moments learned for entries in this clone: from the session that captured an entry, and from events at which it helped."""

from __future__ import annotations

import contextlib
import sqlite3

from engram.adapters.state.hook_memory import AT, HookMemory
from engram.adapters.state.learned_moments import LearnedMoments
from engram.domain.entry.confidence import HELPFUL
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.usecases.store.store import Store


def list_learned(store: Store) -> Mapping[str, list[str]]:
    """Return the moments learned here, by entry; none if the state cannot be read."""
    if store.state.exists:
        with contextlib.suppress(StoreError, OSError, sqlite3.Error):
            return LearnedMoments(store.state).all()
    return {}


def learn(store: Store, lore_id: str, lines: Iterable[str]) -> None:
    """Learn moments of an entry. Raises StoreError."""
    LearnedMoments(store.state).learn(lore_id, lines, store.clock.now().timestamp())


def note_shown(store: Store, ids: Iterable[str], lines: Sequence[str]) -> None:
    """Note the moments at which the session was shown entries; `learn_from_feedback` learns them for entries that help."""
    memory, now = HookMemory(store.state), store.clock.now().timestamp()
    for lore_id in ids:
        for line in lines:
            memory.mark(AT, store.caller.session, f"{lore_id}\n{line}", now)


def learn_from_feedback(store: Store, lore_id: str, kind: str) -> None:
    """Learn the moments at which an entry helped this session; forget those of one that was wrong or not relevant."""
    if not store.state.exists:
        return
    if kind != HELPFUL:
        LearnedMoments(store.state).forget(lore_id)
        return
    shown = HookMemory(store.state).marked(AT, store.caller.session)
    learn(store, lore_id, sorted(key.partition("\n")[2] for key in shown if key.startswith(f"{lore_id}\n")))
