"""Merge a remote's commit into this clone, and retry while other processes change the same files."""

from __future__ import annotations

import contextlib

from engram.adapters.git.run import layout
from engram.domain.errors import EngramError, SyncBlockedError
from engram.domain.sync.sync_plan import is_lore
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission import credit, incoming_quarantine
from engram.usecases.admission.incoming_quarantine import mark_checked
from engram.usecases.index.refresh import refresh
from engram.usecases.merge import commit_merge, external_merges
from engram.usecases.store.commit import commit_pending
from engram.usecases.store.outside_changes import record_outside_changes
from engram.usecases.sync import apply
from engram.usecases.sync.apply import may_stay_uncommitted
from engram.usecases.sync.local_changes import LOCK_SECONDS, committing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.usecases.merge.commit_merge import Merge, ReadAhead
    from engram.usecases.store.store import Store

_MAX_ROUNDS = 20
_MAX_STUCK_ROUNDS = 4  # with the same file in the way
_MAX_INDEXED_BY_PATH = 5000  # files; for more, the index scans all


def merge_incoming(
    store: Store,
    theirs: str,
    *,
    own: bool = False,
    on_merge: Callable[[Merge], bool] | None = None,
    read_ahead: ReadAhead | None = None,
) -> Merge | None:
    """Plan, make and apply the merge of a remote's commit; return None if we already have it.

    Other processes may write meanwhile. If they change a file that the merge changes, that is committed, and the merge is
    planned again. `own` means that it is a commit of this clone's own branch: nothing of it is quarantined. `on_merge`
    receives a merge before it is applied, and returns whether it is public from now on: later rounds then build upon it.

    Raises SyncBlockedError if the merge changes a file whose local changes cannot be committed.
    """
    repo, read_ahead = store.repository, read_ahead or commit_merge.ReadAhead()
    obstructed: tuple[str, ...] = ()
    uncommitted = set[str]()
    stuck_rounds = 0
    other = theirs
    for _ in range(_MAX_ROUNDS):
        with committing(store):
            head = layout.read_head(repo)
            if head.oid == theirs and not own:
                mark_checked(store, theirs)
                return None
            merge = _merge(store, head.oid, other, read_ahead, own=own)
            if merge is not None and on_merge is not None and on_merge(merge):
                other = merge.commit
            applied = apply.apply_merge(store, head, merge, uncommitted) if merge else apply.Applied(True)
        commit_pending(store, wait=LOCK_SECONDS)
        if applied.done:
            if not own:
                _record_arrivals(store, head.oid, theirs, merge)
            return merge._replace(notes=applied.notes) if merge else None
        # Others may keep writing a file that is in the way, but not for ever.
        stuck_rounds = stuck_rounds + 1 if applied.in_the_way and applied.in_the_way == obstructed else 0
        obstructed = applied.in_the_way
        if stuck_rounds:  # committing them did not help
            uncommitted |= may_stay_uncommitted(obstructed, store.places.folder)
        if stuck_rounds == _MAX_STUCK_ROUNDS:
            break
        record_outside_changes(store, obstructed)
        commit_pending(store, wait=LOCK_SECONDS)
    if obstructed:
        raise SyncBlockedError(
            f"{obstructed[0]} was changed here in a way that cannot be committed, and the remote changed it too.",
            "Nothing was overwritten. `engram doctor` says what is wrong; repair the file, then sync again.",
        )
    raise SyncBlockedError(
        "Other processes keep changing the same files.", "Sync again in a moment; nothing is lost."
    )


def _merge(store: Store, head: str | None, other: str, read_ahead: ReadAhead, *, own: bool) -> Merge | None:
    """Make the merge commit of `other` and our head; no file and no branch is touched yet.

    Unless it is our `own` commit, quarantine its entries as the settings say, and limit what they may claim.
    """
    commit_merge.check_incoming_commits(store, head, other)
    repaired = external_merges.repair_merges(store, other, read_ahead)
    plan = commit_merge.plan_merge(store, head, repaired, read_ahead)
    merge = commit_merge.merge_commits(store, plan, read_ahead)
    if merge is None or own:
        return merge
    credit.note_raised(store, merge.changes, merge.known)
    return merge._replace(
        held=incoming_quarantine.quarantine_incoming(store, head, other, merge.changes, merge.known)
    )


def _record_arrivals(store: Store, head: str | None, theirs: str, merge: Merge | None) -> None:
    mark_checked(store, theirs)
    if merge is not None:
        incoming_quarantine.record_arrivals(store, head, theirs, merge.changes, merge.known)


def update_index(store: Store, paths: Sequence[str]) -> None:
    """Index incoming entries; what fails is left to the next query."""
    lore = [path for path in paths if is_lore(path, store.places.folder)]
    if lore:
        with contextlib.suppress(EngramError):
            refresh(store, paths=lore if len(lore) <= _MAX_INDEXED_BY_PATH else ())
