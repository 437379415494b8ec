"""Write and read the activity log of queries, tools and hooks. It is local, and write failures are ignored."""

from __future__ import annotations

import sqlite3

from engram.adapters.state.activity_table import NO_COUNTS, QUERY, ActivityLine, Withheld
from engram.domain.admission.secrets import find_secrets, redact
from engram.domain.errors import StoreError, UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from engram.adapters.state.database import StateDatabase
    from engram.usecases.store.store import Store

MOST_READ = 10_000
_MAX_IDS = 1000


def note(
    store: Store,
    action: str,
    *,
    state: StateDatabase | None = None,
    query: str = "",
    strategy: str = "",
    strength: str = "",
    ids: Sequence[str] = (),
    scores: Sequence[float] = (),
    took_ms: float = 0.0,
    tokens: int = 0,
    withheld: Sequence[Withheld] = (),
    details: Mapping[str, int] = NO_COUNTS,
) -> None:
    """Record an action in `state` (default: the session's), unless `recall.log` is off.

    Secrets in `query` are masked. Only the first 1,000 ids are kept, so that SQL can read the rows. Never raises.
    """
    if not store.settings.flag("recall.log"):
        return
    caller, now = store.caller, store.clock.now().timestamp()
    masked = redact(query, find_secrets(query, store.allowed_secrets)) if query else ""
    entry = ActivityLine(
        now, caller.session, masked, strategy, strength, tuple(ids[:_MAX_IDS]), tuple(scores[:_MAX_IDS]), took_ms,
        action, caller.via, caller.agent, tokens, tuple(withheld), details,
    )  # fmt: skip
    try:
        (state or store.session_state).live.add(entry)
    except (StoreError, OSError, sqlite3.Error):
        store.degraded.append("the activity log cannot be written")


def milliseconds_since(store: Store, began_ns: int) -> float:
    """Return the milliseconds since `began_ns`, rounded to microseconds."""
    return round((store.clock.nanoseconds() - began_ns) / 1e6, 3)


def entries(store: Store, since: int | None = None, limit: int = 100) -> list[ActivityLine]:
    """Return up to `limit` entries, oldest first: those after number `since`, or the latest. Raises UsageError, StoreError."""
    if not 1 <= limit <= MOST_READ:
        raise UsageError(f"The limit must be from 1 to {MOST_READ:,}, not {limit}.")
    with store.lock:
        live = store.session_state.live
        return live.latest(limit)[::-1] if since is None else live.since(since, limit)


def follow(store: Store, since: int | None, limit: int, pause: Callable[[], None]) -> Iterator[ActivityLine]:
    """Yield the entries that `entries` returns, then new ones forever; `pause` waits between two reads."""
    while True:
        found = entries(store, since, limit)
        yield from found
        since = found[-1].number if found else since or 0
        if len(found) < limit:
            pause()


__all__ = ["QUERY", "ActivityLine", "Withheld", "entries", "follow", "milliseconds_since", "note"]
