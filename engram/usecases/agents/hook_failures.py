"""Log failures of hooks in the activity log, since the agents do not see them."""

from __future__ import annotations

from engram.domain.text.whole_words import first_words
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import activity_log

if TYPE_CHECKING:
    from engram.adapters.state.activity_table import ActivityLine
    from engram.usecases.store.store import Store

ACTION = "failed"
_LONGEST = 300  # letters of an error
_DAY = 86_400.0
_MOST = 1000


def log_failure(store: Store, error: BaseException) -> None:
    """Log that the calling hook failed; secrets in the error are masked. Never raises."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    activity_log.note(store, ACTION, query=first_words(text, _LONGEST))


def failures_of_last_day(store: Store) -> list[ActivityLine]:
    """Return the failures of the last day, the newest first. Raises StoreError."""
    since = store.clock.now().timestamp() - _DAY
    return [one for one in store.session_state.live.latest(_MOST, ACTION) if one.at > since]
