"""Read from the store for the entry screen. Called from worker threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engram.adapters.files.frontmatter.origin import origin_of
from engram.domain.errors import EngramError, NotFoundError, StoreError
from engram.usecases.history.origin import known_origins
from engram.usecases.opening.scopes import open_scope_of
from engram.usecases.recall.usage import usefulness_of
from engram.usecases.store import people
from engram.usecases.store.remote import list_remotes
from engram_tui.entry.format import Provenance

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.usecases.graph.links import Link
    from engram.usecases.history.log import Event
    from engram.usecases.recall.recall_log import Surfaced

MAX_VERSIONS = 500
MAX_QUERIES = 50


def provenance(entry_id: str, store: Engram) -> Provenance:
    """Read the provenance of an entry, and its usefulness. Raises NotFoundError."""
    shown = store.get(entry_id)
    home = open_scope_of(store.store, shown.scope)
    try:
        remotes = tuple([remote.url for remote in list_remotes(home)])
    except EngramError:  # a store outside git, or in a repository that has other things to share
        remotes = ()
    [origin] = known_origins(home, [shown.lore])
    machine = people.machine_name(home, shown.lore.source_id)
    voters = {clone: people.machine_name(home, clone) for clone in shown.lore.accounts}
    return Provenance(
        origin._replace(machine=machine),
        voters,
        origin_of(home.files.read(shown.path)),
        remotes,
        usefulness_of(home, shown.lore),
    )


def versions(entry_id: str, store: Engram) -> Sequence[Event]:
    """Read the commits of an entry, newest first; none outside git. Raises NotFoundError, GitError."""
    try:
        return store.history(entry_id, MAX_VERSIONS)
    except StoreError:
        if store.store.places.repository is None:
            return ()
        raise


def queries(entry_id: str, store: Engram) -> Sequence[Surfaced]:
    """Read the latest queries that returned an entry. Raises NotFoundError."""
    return store.surfaced(entry_id, MAX_QUERIES)


def links(entry_id: str, store: Engram) -> Sequence[Link]:
    """Read the links from and to an entry. Raises NotFoundError, StoreError."""
    return store.links(entry_id)


def texts(store: Engram, entry_id: str, commits: Sequence[str]) -> list[Lore | None]:
    """Read an entry at each of these commits; None for a commit without it. Raises StoreError, GitError."""
    found: list[Lore | None] = []
    for commit in commits:
        try:
            found.append(store.version(entry_id, commit))
        except NotFoundError:
            found.append(None)
    return found
