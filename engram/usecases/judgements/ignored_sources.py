"""Ignore the judgements of sources in this clone alone, for all figures and tiers that it shows."""

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
    """An ignored source: its id, its name ("": unknown), and the number of its judgements."""

    source: str
    name: str
    judgements: int


def list_ignored(store: Store) -> list[Ignored]:
    """Return the ignored sources, by id. Raises StoreError, GitError."""
    judgements.refresh(store)
    listed = sorted(judgements.ignored_sources(store))
    names = store.judgements.names() if listed else {}
    return [
        Ignored(source, names.get(source, ""), len(store.judgements.of_source(source))) for source in listed
    ]


def ignore(store: Store, sources: Collection[str]) -> int:
    """Ignore sources, which need not have judged yet; return how many are new.

    Raises UsageError for an invalid id and for this clone's own, StoreError, GitError.
    """
    for source in sources:
        if not ulid.is_valid(source):
            raise UsageError(
                f"'{source[:60]}' is not the id of a source.",
                "An id has 26 capital letters and digits; `engram show` prints that of an entry's source.",
            )
        if source == store.known_source_id:
            raise UsageError("That is this clone's own id.", "`engram undo` takes back your own judgements.")
    known = judgements.ignored_sources(store)
    return _replace(store, known | set(sources)) and len(set(sources) - known)


def restore_sources(store: Store, sources: Collection[str]) -> int:
    """Stop ignoring sources; return how many. Raises NotFoundError for one that is not ignored, StoreError, GitError."""
    known = judgements.ignored_sources(store)
    for source in sources:
        if source not in known:
            raise NotFoundError(
                f"'{source[:60]}' is not ignored.", "To list those that are: engram trust ignore"
            )
    _replace(store, known - set(sources))
    return len(set(sources))


def _replace(store: Store, listed: frozenset[str]) -> bool:
    """Write the list and refresh the judgements; return whether it changed."""
    with store.lock:
        if listed == judgements.ignored_sources(store):
            return False
        store.ledgers.change(ledger.IGNORED, lambda _: erasure.render(listed))
        judgements.refresh(store)
    return True
