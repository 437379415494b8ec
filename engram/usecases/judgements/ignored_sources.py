"""Set aside what sources said, in this clone alone: it counts in no figure and no tier that is shown here."""

from __future__ import annotations

from engram.domain.entry import ulid
from engram.domain.errors import NotFoundError, UsageError
from engram.domain.judgements import erasure, ledger
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import judgements

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.usecases.store.store import Store


class Ignored(NamedTuple):
    """An ignored source: its id, its name ("" unknown), and how many judgements it made."""

    source: str
    name: str
    judgements: int


def list_ignored(store: Store) -> list[Ignored]:
    """Return the ignored sources, by id. Raises StoreError, GitError."""
    judgements.refresh(store)
    listed = sorted(judgements.ignored_sources(store))
    names = store.judgements.names() if listed else {}
    return [Ignored(one, names.get(one, ""), len(store.judgements.of_source(one))) for one in listed]


def ignore(store: Store, sources: Collection[str]) -> int:
    """Set sources aside; return how many are new. They need not have judged yet.

    Raises UsageError for what is no id and for this clone's own, StoreError, GitError.
    """
    for one in sources:
        if not ulid.is_valid(one):
            raise UsageError(
                f"'{one[:60]}' is not the id of a source.",
                "An id has 26 capital letters and digits; `engram show` prints that of an entry's source.",
            )
        if one == store.known_source_id:
            raise UsageError("That is this clone's own id.", "`engram undo` takes back your own judgements.")
    known = judgements.ignored_sources(store)
    return _replace(store, known | set(sources)) and len(set(sources) - known)


def restore_sources(store: Store, sources: Collection[str]) -> int:
    """Let sources count again; return how many. Raises NotFoundError for one that is not ignored, StoreError, GitError."""
    known = judgements.ignored_sources(store)
    for one in sources:
        if one not in known:
            raise NotFoundError(
                f"'{one[:60]}' is not ignored.", "To list those that are: engram trust ignore"
            )
    _replace(store, known - set(sources))
    return len(set(sources))


def _replace(store: Store, listed: frozenset[str]) -> bool:
    """Write the list, and bring what is shown up to date. Return whether it differs from before."""
    with store.lock:
        if listed == judgements.ignored_sources(store):
            return False
        store.ledgers.change(ledger.IGNORED, lambda _: erasure.render(listed))
        judgements.refresh(store)
    return True
