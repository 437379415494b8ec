"""A store as of a commit or date: its files are extracted from git, indexed and cached for later queries."""

from __future__ import annotations

import os
import shutil

from engram.adapters.files.durable import atomic
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.store import PLAIN, Places, Store
from engram.usecases.store.version_paths import git_prefix, repository_of

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

_FOLDER = "as-of"
_MAX_CACHED = 4


def store_as_of(store: Store, revision: str) -> Store:
    """Return the store as it was at `revision`. Close it after use.

    Raises NotFoundError if there is no such commit, StoreError outside git.
    """
    from engram.adapters.git.read.revisions import resolve
    from engram.usecases.store.commit import commit_quietly

    repository = repository_of(store)
    commit_quietly(store)
    commit = resolve(repository, revision)
    base = os.path.join(store.places.state, _FOLDER)
    root = os.path.join(base, commit)
    state = os.path.join(root, ".state")
    try:
        if not os.path.isdir(root):
            _extract(store, repository, commit, root)
            _delete_oldest(base, root)
        os.makedirs(state, exist_ok=True)
    except OSError as error:
        raise atomic.write_error(base, error) from None
    places = Places(root, store.places.folder, state, PLAIN, store.places.scope, None)
    past = Store(places, store.settings, store.clock, store.caller)
    past.original = store
    return past


def _extract(store: Store, repository: Repository, commit: str, root: str) -> None:
    """Extract the commit's lore into `root`, atomically."""
    from engram.adapters.git.read.revisions import files_at

    prefix = git_prefix(store.places.root, repository)
    temporary = f"{root}.{store.clock.new_id()}"
    try:
        os.makedirs(os.path.join(temporary, *store.places.folder.split("/")), exist_ok=True)
        for path, content in files_at(repository, commit, prefix + store.places.folder, ".md"):
            target = os.path.join(temporary, *path.removeprefix(prefix).split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(content)
        os.rename(temporary, root)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        if not os.path.isdir(root):  # else another process was faster
            raise


def _delete_oldest(base: str, keep: str) -> None:
    """Delete all folders in `base` except `keep` and the newest few."""
    folders = [os.path.join(base, name) for name in os.listdir(base)]
    folders.sort(key=os.path.getmtime, reverse=True)
    for folder in folders[_MAX_CACHED:]:
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)
