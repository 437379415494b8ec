"""The part of a sync that works on this clone: commit what waits, merge, and bring the result in, in rounds.

Other processes go on writing meanwhile. What they change in a file that the merge wants to change is committed
first, and then the merge is made again.
"""

from __future__ import annotations

import contextlib
import os

from engram.adapters.files.durable import atomic
from engram.adapters.git.read import tree
from engram.adapters.git.run import layout
from engram.domain.errors import EngramError, NotFoundError, StoreError, SyncBlockedError
from engram.domain.sync.sync_plan import is_lore
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission import credit, incoming_quarantine
from engram.usecases.admission.pulled_commits import weighed
from engram.usecases.graph import agent_profiles, entities
from engram.usecases.index.refresh import refresh
from engram.usecases.merge import commit_merge, external_merges, incoming_paths
from engram.usecases.similarity import deduplicate
from engram.usecases.store.commit import commit_lock, commit_pending
from engram.usecases.store.outside_changes import record_outside_changes
from engram.usecases.sync import apply, uncommitted_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engram.usecases.merge.commit_merge import Merge
    from engram.usecases.store.store import Store

ROUNDS = 20
PATIENCE = 4  # rounds
LOCK_SECONDS = 60.0
FEW = 5000  # files; above that the index looks at all


def settle(store: Store) -> None:
    """Commit everything that waits here: the journal, hand edits, settings. Raises GitError, StoreError."""
    with _committing(store):
        apply.finish(store)
    find_hand_edits(store)
    entities.known(store)  # notes what people changed in them, as the index does of lore
    agent_profiles.note_by_hand(store)
    commit_pending(store, wait=LOCK_SECONDS)
    _commit_settings(store)


def find_hand_edits(store: Store) -> None:
    """Look at every file, as `git status` does: an edit in place moves no folder's time."""
    try:
        looked = refresh(store, thorough=False, sweep=True).fresh
    except EngramError:
        looked = False
    if not looked:  # the index is in use or cannot be written, which must not stop a sync: git looks instead
        record_outside_changes(store, [store.places.folder])


def put_right(store: Store) -> Merge | None:
    """Put right what others merged in our own branch without Engram's rules; None where nothing was amiss."""
    head = layout.read_head(store.repository).oid
    if head is None or external_merges.put_right(store, head) == head:
        return None
    return bring_in(store, head, ours=True)


def bring_in(
    store: Store, theirs: str, *, ours: bool = False, made: Callable[[Merge], bool] | None = None
) -> Merge | None:
    """Merge the remote's commit into our branch and files; None where we have it all already.

    What is amiss in it (see `sync_foreign`) is put right first. `ours` says that it is a commit of this clone's
    own branch: nothing of it is new here, so nothing is held. `made` hears of a merge before anything of it is written,
    and says whether others may know it from now on: then a further round goes upon it.

    Raises SyncBlockedError where a file here cannot be committed and the merge wants to change it.
    """
    repo = store.repository
    before: tuple[str, ...] = ()
    uncommitted = set[str]()
    stuck = 0
    other = theirs
    for _ in range(ROUNDS):
        with _committing(store):
            head = layout.read_head(repo)
            if head.oid == theirs and not ours:
                weighed(store, theirs)
                return None
            merge = _merged(store, head.oid, other, ours=ours)
            if merge is not None and made is not None and made(merge):
                other = merge.commit
            applied = apply.bring_in(store, head, merge, uncommitted) if merge else apply.Applied(True)
        commit_pending(store, wait=LOCK_SECONDS)
        if applied.done:
            if not ours:
                _note_arrival(store, head.oid, theirs, merge)
            return merge._replace(notes=applied.notes) if merge else None
        # A file that others write all the time is in the way again and again, but not for ever.
        stuck = stuck + 1 if applied.in_the_way and applied.in_the_way == before else 0
        before = applied.in_the_way
        if stuck:  # to commit them was tried
            uncommitted |= uncommitted_files.may_be_kept(before, store.places.folder)
        if stuck == PATIENCE:
            break
        record_outside_changes(store, before)
        commit_pending(store, wait=LOCK_SECONDS)
    if before:
        raise SyncBlockedError(
            f"{before[0]} was changed here in a way that cannot be committed, and the remote changed it too.",
            "`engram doctor` says what is wrong with it; mend it, then sync again. Nothing was overwritten.",
        )
    raise SyncBlockedError(
        "Others change the same files all the time.", "Sync again in a moment: nothing is lost."
    )


def _merged(store: Store, head: str | None, other: str, *, ours: bool) -> Merge | None:
    """What our head becomes when it takes in a commit, as `bring_in` says; nothing of it is written yet."""
    incoming_paths.check_commits(store.repository, head, other, incoming_paths.NOT_SYNCED)
    merge = commit_merge.merge_heads(store, head, external_merges.put_right(store, other))
    if merge is None or ours:
        return merge
    credit.note_raised(store, merge.changes, merge.contents)
    return merge._replace(held=incoming_quarantine.weigh(store, head, other, merge.changes, merge.contents))


def _note_arrival(store: Store, head: str | None, theirs: str, merge: Merge | None) -> None:
    weighed(store, theirs)
    if merge is not None:
        incoming_quarantine.note(store, head, theirs, merge.changes, merge.contents)


def index(store: Store, paths: Sequence[str]) -> None:
    """Make what came in findable; what cannot be indexed now is left to the next query."""
    lore = [path for path in paths if is_lore(path, store.places.folder)]
    if lore:
        with contextlib.suppress(EngramError):
            refresh(store, paths=lore if len(lore) <= FEW else ())


def fold(store: Store, arrived: Sequence[str]) -> deduplicate.Folded:
    """Fold what came in into what says the same here, and commit that. Raises EngramError."""
    found = deduplicate.fold_arrivals(store, arrived)
    if found.folded:
        commit_pending(store, wait=LOCK_SECONDS)
    return found


@contextlib.contextmanager
def _committing(store: Store) -> Iterator[None]:
    """Hold the lock of whoever commits."""
    lock = commit_lock(store)
    if not lock.acquire(LOCK_SECONDS):
        raise StoreError("Another process has been committing for a minute.", "Try again; nothing is lost.")
    try:
        yield
    finally:
        lock.release()


def _commit_settings(store: Store) -> None:
    """Commit the store's own configuration file where a person or `engram config` changed it."""
    from engram.adapters.files.places import CONFIG_NAME
    from engram.adapters.git.write.commits import Commit, FileChange, commit_all
    from engram.domain.admission.secrets import find_secrets

    repo = store.repository
    head = layout.read_head(repo).oid
    held = tree.entries(repo, head, [CONFIG_NAME]).get(CONFIG_NAME)
    try:
        raw = atomic.read(os.path.join(store.places.root, CONFIG_NAME))
    except (NotFoundError, StoreError):
        return
    if held and held.oid == tree.blob_oid(raw, layout.hash_name(repo)):
        return
    if store.notes or find_secrets(raw.decode("utf-8", "replace"), store.allowed_secrets):
        return  # what cannot be read, or must not be seen, stays here
    moment = int(store.clock.now().timestamp())
    commit = Commit(
        "edit by hand: settings\n\nEngram-Agent: human\n", (FileChange(CONFIG_NAME, raw),), None, moment
    )
    with _committing(store):
        commit_all(repo, [commit], store.clock.new_id(), store.places.state)
