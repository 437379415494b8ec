"""Remember what a session was shown: whole entries, and passages of long ones.

An entry that was only listed by its title does not count, and each passage of a long entry counts by itself.
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
    """Return the key of an entry as shown: its id, with the digest of the passages if it is not whole."""
    return f"{framed.id} {digest(framed.content.encode())}" if framed.left_out else framed.id


def shown_keys(store: Store) -> set[str]:
    """Return the keys of entries that the calling session was shown."""
    return HookMemory(store.state).marked(SHOWN, store.caller.session)


def mark(store: Store, shown: Iterable[Framed]) -> list[Framed]:
    """Mark entries as shown to the calling session, and return those that are new to it."""
    memory, now = HookMemory(store.state), store.clock.now().timestamp()
    return [one for one in shown if memory.mark(SHOWN, store.caller.session, key(one), now)]


def remember(store: Store, shown: Iterable[Framed], *, is_recalled: bool = False) -> None:
    """Mark entries as shown to the calling session; an error is ignored, since the answer does not depend on it.

    With `is_recalled` the agent is asked later whether they helped.
    """
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        marked = mark(store, shown)
        memory, now = HookMemory(store.state), store.clock.now().timestamp()
        for one in marked if is_recalled else ():
            memory.mark(RECALLED, store.caller.session, one.id, now)
