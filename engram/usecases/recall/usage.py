"""How the entries of a store were used on this machine, according to the activity log and feedback."""

from __future__ import annotations

from engram.adapters.state.usage import Usage, usage
from engram.domain.consolidation.usefulness import importance
from engram.domain.recall.budget import tokens
from engram.domain.scopes import SESSION
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.adapters.index.catalog import Hit
    from engram.adapters.state.database import StateDatabase
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

_REPEATED = 10  # how often the log has the same query, on average


def usage_of(store: Store) -> Usage:
    """Return how all entries of a store were used. Raises StoreError if another process holds the log."""
    return usage([log_of(store)])


def latest_queries(store: Store, most: int) -> list[str]:
    """Return the latest distinct queries in the activity log, newest first. Raises StoreError."""
    latest = log_of(store).live.answers(most * _REPEATED)
    return [*dict.fromkeys([query for _, query, _ in latest if query])][:most]


def usefulness_of(store: Store, lore: Lore) -> dict[str, float]:
    """Return the usefulness of an entry as far as it is known without repeating queries: shown, tokens, importance."""
    count = log_of(store).live.times_shown(lore.id)
    value = importance(lore.importance, pinned=lore.pinned, helpful=lore.validation_count, shown=count)
    return {"shown": count, "tokens": count * tokens(lore.content), "importance": value}


def usefulness_of_each(store: Store, hits: Iterable[Hit]) -> dict[str, dict[str, float]]:
    """Return the same as `usefulness_of` for many entries, by id, from their rows in the catalog."""
    by_id = {hit.id: hit for hit in hits}
    counts = log_of(store).live.shown_each([*by_id]) if by_id else {}
    found: dict[str, dict[str, float]] = {}
    for lore_id, hit in by_id.items():
        count = counts.get(lore_id, 0)
        value = importance(hit.importance, pinned=bool(hit.pinned), helpful=hit.validation_count, shown=count)
        found[lore_id] = {"shown": count, "tokens": count * tokens("x" * hit.length), "importance": value}
    return found


def log_of(store: Store) -> StateDatabase:
    """Return the state that has the activity log: the store's own, or for a session's store that of the enclosing one."""
    return store.session_state if store.places.scope == SESSION else store.state
