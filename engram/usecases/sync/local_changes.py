"""What waits in this clone to be committed, before anything is merged: the journal, files edited by hand, settings."""

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
from engram.usecases.index.index_query import look_up
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
    """Commit everything that waits here: the journal, hand edits, settings. Raises GitError, StoreError."""
    with committing(store):
        apply.finish_interrupted(store)
    find_hand_edits(store)
    entities.read_entities(store)  # notes what people changed in them, as the index does of lore
    agent_profiles.note_manual_edits(store)
    commit_pending(store, wait=LOCK_SECONDS)
    _commit_settings(store)


def find_hand_edits(store: Store) -> None:
    """Look at every file, as `git status` does: an edit in place does not change its folder's time."""
    try:
        is_fresh = refresh(store, thorough=False, sweep=True).fresh
    except EngramError:
        is_fresh = False
    if (
        not is_fresh
    ):  # the index is in use or cannot be written, which must not stop a sync: git looks instead
        record_outside_changes(store, [store.places.folder])
    elif _has_problems(store):  # what the index passes over may still have changed
        record_outside_changes(store, [store.places.folder])


def _has_problems(store: Store) -> bool:
    with contextlib.suppress(EngramError):
        return bool(look_up(store, lambda found: found.catalog.problems()))
    return False


def keep_back(store: Store, theirs: str | None, known: Mapping[str, bytes]) -> None:
    """Take files out of our branch that `theirs` lacks and others could not take; they stay in the work tree, and are noted.

    They came with a commit that Engram did not make. One that is only executable travels as a plain file. `known` has
    contents that need not be read, by object id. Raises GitError, StoreError.
    """
    repo = store.repository
    head = layout.read_head(repo).oid
    if head is None or head == theirs:
        return
    shared = merge_commit.bases(repo, theirs, head) if theirs else ()
    changed = differences(repo, shared[0] if len(shared) == 1 else theirs, head)
    files = {path: found.after for path, found in changed.items() if found.after is not None}
    found = judge_files(repo, files, store.places.folder, known)
    runs = {path: files[path].oid for path, one in found.items() if one.why == RUNS}
    refused = {path: one.why for path, one in found.items() if path not in runs}
    added = [path for path in files if changed[path].before is None and path not in refused]
    refused |= excluded_files.find_twins(repo, theirs, added)
    runs = {path: oid for path, oid in runs.items() if path not in refused}
    if not refused and not runs:
        return
    what = "keep back" if refused else "make plain files of"
    paths = sorted(refused or runs)
    names = ", ".join(excluded_files.display_path(path) for path in paths[:3])
    text = (
        f"{what}: {names if len(paths) <= 3 else f'{len(paths)} files'}\n\nEngram-Agent: {store.caller.who}\n"
    )
    contents = blobs(repo, runs.values())
    changes = tuple(FileChange(path, None) for path in sorted(refused))
    changes += tuple(FileChange(path, contents[oid], plain=True) for path, oid in sorted(runs.items()))
    moment = int(store.clock.now().timestamp())
    with committing(store):
        commit_all(repo, [Commit(text, changes, None, moment)], store.clock.new_id(), store.places.state)
        excluded_files.note_stays(store, excluded_files.stays(store) | refused)
        for path in runs:
            with contextlib.suppress(OSError):
                os.chmod(os.path.join(store.places.root, path), 0o644)


@contextlib.contextmanager
def committing(store: Store) -> Iterator[None]:
    """Hold the lock of whoever commits. Raises StoreError after a minute."""
    lock = commit_lock(store)
    try:
        taken = lock.acquire(LOCK_SECONDS)
    except OSError as error:
        raise atomic.unwritable(lock.path, error) from None
    if not taken:
        raise StoreError("Another process has been committing for a minute.", "Try again; nothing is lost.")
    try:
        yield
    finally:
        lock.release()


def _commit_settings(store: Store) -> None:
    """Commit the store's own configuration file where a person or `engram config` changed it."""
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
        return  # a file that cannot be used or holds a secret is not shared
    moment = int(store.clock.now().timestamp())
    commit = Commit(
        "edit by hand: settings\n\nEngram-Agent: human\n", (FileChange(CONFIG_NAME, raw),), None, moment
    )
    with committing(store):
        commit_all(repo, [commit], store.clock.new_id(), store.places.state)
