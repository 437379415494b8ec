"""What a session has before it: entries that it was shown whole, and passages of long ones.

An entry that stood somewhere by its title alone is not among them, and one passage of a long entry says nothing of another.
"""

from __future__ import annotations

import contextlib
import sqlite3

from engram.adapters.files.durable.atomic import digest
from engram.adapters.state.hook_memory import RECALLED, SHOWN, HookMemory
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.domain.agents.framing import Framed
    from engram.usecases.store.store import Store


def key(framed: Framed) -> str:
    """Return by what it is remembered that an entry was shown so: its id, for passages with their digest."""
    return f"{framed.id} {digest(framed.content.encode())}" if framed.left_out else framed.id


def before(store: Store) -> set[str]:
    """Return the keys of what the calling session was shown."""
    return HookMemory(store.state).marked(SHOWN, store.caller.session)


def mark(store: Store, shown: Iterable[Framed]) -> list[Framed]:
    """Remember what the calling session is shown now; return those that it was not shown before."""
    memory, now = HookMemory(store.state), store.clock.now().timestamp()
    return [one for one in shown if memory.mark(SHOWN, store.caller.session, key(one), now)]


def remember(store: Store, shown: Iterable[Framed], *, is_recalled: bool = False) -> None:
    """Remember what the calling session is shown, where that is possible: an answer does not fail for want of it.

    With `is_recalled` the agent is asked later whether it helped.
    """
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        marked = mark(store, shown)
        memory, now = HookMemory(store.state), store.clock.now().timestamp()
        for one in marked if is_recalled else ():
            memory.mark(RECALLED, store.caller.session, one.id, now)
