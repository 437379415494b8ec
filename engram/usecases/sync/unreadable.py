"""Unreadable entries that a sync pulled or pushed, reported at once, before anybody misses them."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

from engram.adapters.files.frontmatter import codec
from engram.domain.errors import EngramError, LoreFileError, UnreadableSentError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.index_query import look_up

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.usecases.store.store import Store

_NAMED = 5  # files


def unreadable_entries(
    store: Store, came_in: Collection[str], went_out: Collection[str]
) -> tuple[list[str], list[UnreadableSentError]]:
    """Return notes on unreadable entries among the paths that came in, and errors on those that went out.

    The index knows which files may be meant; where there is none, the next command that looks reports them.
    """
    if not came_in and not went_out:
        return [], []
    notes: list[str] = []
    errors: list[UnreadableSentError] = []
    with contextlib.suppress(EngramError):
        for path in (one.path for one in look_up(store, lambda found: found.catalog.problems())):
            error = _error(store, path) if path in came_in or path in went_out else None
            if error is None:
                continue
            if path in went_out:
                errors.append(UnreadableSentError(error.path, error.line, error.reason, error.hint))
            else:
                notes.append(f"An entry that came in cannot be read: {error.message}")
    more, more_sent = len(notes) - _NAMED, len(errors) - _NAMED
    if more > 0:
        notes[_NAMED:] = [f"{more} more entries that came in cannot be read: `engram doctor` lists them."]
    if more_sent > 0:
        notes.append(f"{more_sent} more entries that went out cannot be read: `engram doctor` lists them.")
    return notes, errors[:_NAMED]


def _error(store: Store, path: str) -> LoreFileError | None:
    """Return what is wrong with a file; None where it can be read, or is gone."""
    try:
        raw = store.files.read(path)[: codec.most_bytes(store.categories) + 1]
        codec.read(raw, path, store.categories, datetime.fromtimestamp(0, UTC))
    except LoreFileError as error:
        return error
    except EngramError:
        return None
    return None
