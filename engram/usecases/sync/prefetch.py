"""What of a sync can be done before it is known what comes in: while git fetches."""

from __future__ import annotations

import contextlib

from engram.adapters.files.merge.merge_canonical import parse_canonical
from engram.adapters.git.read.differences import blobs, differences
from engram.adapters.git.write.tree_edit import read_folders
from engram.domain.errors import EngramError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission.outgoing_secrets import check_outgoing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from engram.adapters.git.read.differences import Difference
    from engram.usecases.merge.commit_merge import ReadAhead
    from engram.usecases.store.store import Store

MOST_FILES = 2000  # what is more is read when it is needed, with progress reported


def prefetch(store: Store, known: str, head: str, into: ReadAhead) -> Collection[str]:
    """Read what we changed since the commit `known` of the remote, and return the commits that hold no secret.

    Errors are left to whoever needs the files later.
    """
    repo = store.repository
    with contextlib.suppress(EngramError):
        changed = differences(repo, known, head)
        if 0 < len(changed) <= MOST_FILES:
            _read_entries(store, changed, into)
            into.folders = read_folders(repo, head, changed)
            return check_outgoing(store, known, head, known=into.contents)
    return ()


def _read_entries(store: Store, changed: Mapping[str, Difference], into: ReadAhead) -> None:
    """Read and parse the entries that we changed, both versions: if the remote changed them too, they are merged."""
    found = [
        entry
        for path, difference in changed.items()
        if sync_plan.is_lore(path, store.places.folder)
        for entry in difference
        if entry is not None and entry.mode in sync_plan.REGULAR
    ]
    contents = blobs(store.repository, (entry.oid for entry in found), into.contents)
    into.keep(contents)
    if store.parsed is not None:
        for raw in contents.values():
            parse_canonical(raw, store.categories, store.parsed)
