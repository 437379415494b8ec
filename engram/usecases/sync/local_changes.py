"""Commit local changes before a merge: the journal, files edited by hand, settings."""

from __future__ import annotations

import contextlib
import os

from engram.adapters.files.durable import atomic
from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import blobs, differences
from engram.adapters.git.run import layout
from engram.adapters.git.write import merge_commit
from engram.adapters.git.write.commits import Commit, FileChange, commit_all
from engram.domain.errors import EngramError, NotFoundError, StoreError
from engram.domain.sync.sync_plan import RUNS
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.graph import agent_profiles, entities
from engram.usecases.index.index_query import query_without_refresh
from engram.usecases.index.refresh import refresh
from engram.usecases.merge.incoming_paths import judge_files
from engram.usecases.store import excluded_files
from engram.usecases.store.commit import commit_lock, commit_pending
from engram.usecases.store.outside_changes import record_outside_changes
from engram.usecases.sync import apply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.usecases.store.store import Store

LOCK_SECONDS = 60.0


def commit_local_changes(store: Store) -> None:
    """Commit all local changes: the journal, hand edits, settings. Raises GitError, StoreError."""
    with committing(store):
        apply.finish_interrupted(store)
    find_hand_edits(store)
    entities.read_entities(store)  # records hand edits of entities, as the index does for lore
    agent_profiles.note_manual_edits(store)
    commit_pending(store, wait=LOCK_SECONDS)
    _commit_settings(store)


def find_hand_edits(store: Store) -> None:
    """Check every file, as `git status` does: an edit in place does not change its folder's time."""
    try:
        is_fresh = refresh(store, thorough=False, sweep=True).fresh
    except EngramError:
        is_fresh = False
    # An index that is locked or cannot be written must not stop a sync, so git looks instead; it does, too, if some files
    # cannot be indexed: they may have changed.
    if not is_fresh or _has_unreadable_files(store):
        record_outside_changes(store, [store.places.folder])


def _has_unreadable_files(store: Store) -> bool:
    with contextlib.suppress(EngramError):
        return bool(query_without_refresh(store, lambda found: found.catalog.problems()))
    return False


def keep_back(store: Store, theirs: str | None, known: Mapping[str, bytes]) -> None:
    """Remove files that are new since `theirs` and that others would refuse from our branch; they stay in the work tree.

    Such files come from commits that Engram did not make. Executable files are made plain instead. `known` has contents
    that need not be read, by object id. Raises GitError, StoreError.
    """
    repo = store.repository
    head = layout.read_head(repo).oid
    if head is None or head == theirs:
        return
    shared = merge_commit.bases(repo, theirs, head) if theirs else ()
    changed = differences(repo, shared[0] if len(shared) == 1 else theirs, head)
    files = {path: change.after for path, change in changed.items() if change.after is not None}
    refusals = judge_files(repo, files, store.places.folder, known)
    executables = {path: files[path].oid for path, refusal in refusals.items() if refusal.why == RUNS}
    refused = {path: refusal.why for path, refusal in refusals.items() if path not in executables}
    added = [path for path in files if changed[path].before is None and path not in refused]
    refused |= excluded_files.find_twins(repo, theirs, added)
    executables = {path: oid for path, oid in executables.items() if path not in refused}
    if not refused and not executables:
        return
    action = "keep back" if refused else "make plain files of"
    paths = sorted(refused or executables)
    names = ", ".join(excluded_files.display_path(path) for path in paths[:3])
    text = f"{action}: {names if len(paths) <= 3 else f'{len(paths)} files'}\n\nEngram-Agent: {store.caller.who}\n"
    contents = blobs(repo, executables.values())
    changes = tuple(FileChange(path, None) for path in sorted(refused))
    changes += tuple(FileChange(path, contents[oid], plain=True) for path, oid in sorted(executables.items()))
    moment = int(store.clock.now().timestamp())
    with committing(store):
        commit_all(repo, [Commit(text, changes, None, moment)], store.clock.new_id(), store.places.state)
        excluded_files.note_uncommitted(store, excluded_files.uncommitted_files(store) | refused)
        for path in executables:
            with contextlib.suppress(OSError):
                os.chmod(os.path.join(store.places.root, path), 0o644)


@contextlib.contextmanager
def committing(store: Store) -> Iterator[None]:
    """Hold the commit lock. Raises StoreError if it is not free within a minute."""
    lock = commit_lock(store)
    try:
        is_locked = lock.acquire(LOCK_SECONDS)
    except OSError as error:
        raise atomic.write_error(lock.path, error) from None
    if not is_locked:
        raise StoreError("Another process has been committing for a minute.", "Try again; nothing is lost.")
    try:
        yield
    finally:
        lock.release()


def _commit_settings(store: Store) -> None:
    """Commit the store's own configuration file if a person or `engram config` changed it."""
    from engram.adapters.files.places import CONFIG_NAME
    from engram.domain.admission.secrets import find_secrets

    repo = store.repository
    head = layout.read_head(repo).oid
    committed = objects.entries(repo, head, [CONFIG_NAME]).get(CONFIG_NAME)
    try:
        raw = atomic.read(os.path.join(store.places.root, CONFIG_NAME))
    except (NotFoundError, StoreError):
        return
    if committed and committed.oid == objects.blob_oid(raw, layout.hash_name(repo)):
        return
    if store.notes or find_secrets(raw.decode("utf-8", "replace"), store.allowed_secrets):
        return  # do not share a file that is invalid or holds a secret
    moment = int(store.clock.now().timestamp())
    commit = Commit(
        "edit by hand: settings\n\nEngram-Agent: human\n", (FileChange(CONFIG_NAME, raw),), None, moment
    )
    with committing(store):
        commit_all(repo, [commit], store.clock.new_id(), store.places.state)
