"""Report unreadable entries that a sync pulled or pushed at once, before anybody misses them."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

from engram.adapters.files.frontmatter import codec
from engram.domain.errors import EngramError, LoreFileError, UnreadableSentError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.index_query import query_without_refresh

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.usecases.store.store import Store

_MAX_LISTED = 5


def unreadable_entries(
    store: Store, pulled: Collection[str], pushed: Collection[str]
) -> tuple[list[str], list[UnreadableSentError]]:
    """Return notes on unreadable entries among the pulled paths, and errors for those among the pushed paths.

    The index lists the candidates; without one, the next command that reads the files reports them.
    """
    if not pulled and not pushed:
        return [], []
    notes: list[str] = []
    errors: list[UnreadableSentError] = []
    with contextlib.suppress(EngramError):
        for problem in query_without_refresh(store, lambda found: found.catalog.problems()):
            path = problem.path
            error = _read_error(store, path) if path in pulled or path in pushed else None
            if error is None:
                continue
            if path in pushed:
                errors.append(UnreadableSentError(error.path, error.line, error.reason, error.hint))
            else:
                notes.append(f"An entry that came in cannot be read: {error.message}")
    more, more_sent = len(notes) - _MAX_LISTED, len(errors) - _MAX_LISTED
    if more > 0:
        notes[_MAX_LISTED:] = [
            f"{more} more entries that came in cannot be read: `engram doctor` lists them."
        ]
    if more_sent > 0:
        notes.append(f"{more_sent} more entries that went out cannot be read: `engram doctor` lists them.")
    return notes, errors[:_MAX_LISTED]


def _read_error(store: Store, path: str) -> LoreFileError | None:
    """Return the error of reading a file; None if it can be read or no longer exists."""
    try:
        raw = store.files.read(path)[: codec.max_file_bytes(store.categories) + 1]
        codec.read(raw, path, store.categories, datetime.fromtimestamp(0, UTC))
    except LoreFileError as error:
        return error
    except EngramError:
        return None
    return None
