"""Failed hooks, logged in the activity log, since their agents are not told."""

from __future__ import annotations

from engram.domain.text.whole_words import first_words
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import activity_log

if TYPE_CHECKING:
    from engram.adapters.state.activity_table import LiveEntry
    from engram.usecases.store.store import Store

ACTION = "failed"
_LONGEST = 300  # letters of an error
_DAY = 86_400.0
_MOST = 1000


def note(store: Store, error: BaseException) -> None:
    """Record that the store's caller failed; a secret in the error is masked. Never raises."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    activity_log.note(store, ACTION, query=first_words(text, _LONGEST))


def of_last_day(store: Store) -> list[LiveEntry]:
    """Return the lines of the last day, newest first. Raises StoreError."""
    since = store.clock.now().timestamp() - _DAY
    return [one for one in store.session_state.live.latest(_MOST, ACTION) if one.at > since]
