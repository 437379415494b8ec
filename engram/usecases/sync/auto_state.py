"""Whether a store syncs automatically, why not, and since when changes wait to be sent."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.entry import times
from engram.domain.scopes import SESSION
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.judgements.publishing import is_ci
from engram.usecases.store import sync_consent, sync_state
from engram.usecases.sync.auto_sync import AUTO, QUIET_VARIABLE, can_sync, is_auto

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


class AutoState(NamedTuple):
    """`on`: it syncs automatically; if not, `why` is a clause ("" without a remote). `waiting_since` is in RFC 3339, or None."""

    on: bool
    why: str
    waiting_since: str | None


def auto_state(store: Store) -> AutoState:
    """Return the state of automatic syncs, read from files alone, without starting git."""
    changed = sync_state.last_change(store)
    since = times.render(datetime.fromtimestamp(changed // 10**9, UTC)) if changed else None
    return AutoState(is_auto(store), "" if is_auto(store) else _why(store), since)


def _why(store: Store) -> str:
    if store.places.repository is None or store.places.scope == SESSION:
        return ""
    if not sync_consent.is_any_allowed(store):
        return "it begins with your first `engram sync`"
    if not store.settings.flag(AUTO):
        return f"{AUTO} is off"
    if is_ci():
        return "the variable CI is set"
    return f"the variable {QUIET_VARIABLE} turns it off" if can_sync(store) else ""
