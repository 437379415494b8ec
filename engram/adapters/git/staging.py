"""Keep git's index in step with commits that were made without it.

A commit made by `git fast-import` leaves the index behind: to git it then looks as if the new files had
been deleted, and a person's `git commit -a` would delete them. So the new index is prepared beside the old
one while git's own index lock is held, and swapped in once the commit has landed; a person's `git commit`
in between is refused by git instead of undoing the lore. A marker file in the state folder names the paths
while that is under way: after a kill, `sync_index` brings just those paths in step.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from engram.adapters.git import layout, locks, tree
from engram.adapters.git.runner import run
from engram.domain.errors import GitError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.adapters.git.layout import Repository
    from engram.adapters.git.tree import Entry

PATIENCE = 3.0  # seconds


def sync_index(repo: Repository, state_folder: str, *, patience: float = PATIENCE) -> int:
    """Finish what a killed process left: set the marked paths in the index to what HEAD holds.

    Returns how many paths were marked; 0 costs one file lookup. Other paths, staged or not, stay as they
    are. During a merge or rebase nothing is done and the marker waits. Raises `GitError` when git is busy.
    """
    paths = pending(repo, state_folder)
    if not paths or layout.busy(repo) not in (None, "detached"):
        return 0
    with locks.held(index_lock(repo), patience):
        held = tree.entries(repo, layout.read_head(repo).oid, paths)
        prepare(repo, {path: held.get(path) for path in paths})
        publish(repo)
    forget(repo, state_folder)
    return len(paths)


def index_lock(repo: Repository) -> str:
    """The file by whose existence git locks this work tree's index."""
    return os.path.join(repo.git_dir, "index.lock")


def prepare(repo: Repository, wanted: Mapping[str, Entry | None]) -> None:
    """Write a copy of the index with the wanted entries (None: no entry). Call it holding the index lock."""
    copy = _prepared(repo)
    discard(repo)
    _duplicate(os.path.join(repo.git_dir, "index"), copy)
    nothing = "0" * (64 if layout.hash_name(repo) == "sha256" else 40)
    lines = (
        f"{entry.mode} {entry.oid} 0\t{path}" if entry else f"0 {nothing} 0\t{path}"
        for path, entry in wanted.items()
    )
    batch = os.fsencode("".join(line + "\0" for line in lines))
    run(repo, "update-index", "-z", "--index-info", stdin=batch, env={"GIT_INDEX_FILE": copy})


def publish(repo: Repository) -> None:
    """Make the prepared index the index."""
    index = os.path.join(repo.git_dir, "index")
    if not os.path.exists(_prepared(repo)):
        return  # git makes no index file for a repository that never held one and has nothing to put in
    try:
        os.replace(_prepared(repo), index)
    except OSError as error:
        raise GitError(f"{index} cannot be replaced: {error.strerror}.", "Check who owns it.") from error


def discard(repo: Repository) -> None:
    """Remove a prepared index, one that a killed process left included."""
    for name in (_prepared(repo), _prepared(repo) + ".lock"):
        if os.path.lexists(name):
            os.unlink(name)


def pending(repo: Repository, state_folder: str) -> tuple[str, ...]:
    """The paths whose index entries may be behind HEAD."""
    try:
        with open(_marker(repo, state_folder), "rb") as file:
            return tuple(path for path in os.fsdecode(file.read()).split("\0") if path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(
            f"{error.filename} cannot be read: {error.strerror}.", "Check its rights."
        ) from error


def remember(repo: Repository, state_folder: str, paths: Iterable[str]) -> None:
    """Mark paths as about to change in HEAD, in addition to those marked already; survives a power cut."""
    marker = _marker(repo, state_folder)
    merged = dict.fromkeys((*pending(repo, state_folder), *paths))
    try:
        os.makedirs(state_folder, exist_ok=True)
        with open(marker + ".new", "wb") as file:
            file.write(os.fsencode("\0".join(merged)))
            file.flush()
            os.fsync(file.fileno())
        os.replace(marker + ".new", marker)
    except OSError as error:
        raise StoreError(
            f"{marker} cannot be written: {error.strerror}.", "Check disk and rights."
        ) from error


def forget(repo: Repository, state_folder: str) -> None:
    """Remove the marker: index and HEAD agree on its paths."""
    marker = _marker(repo, state_folder)
    if os.path.exists(marker):
        os.unlink(marker)


def _marker(repo: Repository, state_folder: str) -> str:
    # The state folder is shared by all work trees of a repository, the index is not.
    return os.path.join(state_folder, f"index-behind-{repo.worktree_name}")


def _prepared(repo: Repository) -> str:
    return os.path.join(repo.git_dir, "index.engram")


def _duplicate(source: str, target: str) -> None:
    try:
        with open(source, "rb") as old:
            content = old.read()
    except FileNotFoundError:
        return  # nothing was ever staged: git makes a new index
    try:
        with open(target, "wb") as new:
            new.write(content)
    except OSError as error:
        raise GitError(f"{target} cannot be written: {error.strerror}.", "Check disk and rights.") from error
