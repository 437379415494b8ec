"""Keep git's index in step with commits that were made without it.

`git fast-import` does not update the index: git would then show new files as deleted, and `git commit -a` would delete
them. So the new index is written first and the branch moves afterwards, both under git's own index lock. The order
matters: `git commit` reads HEAD, then the index, and takes the lock only then. If it sees the new HEAD, it must also see
the new index; if it saw the old HEAD, git refuses to commit after the branch has moved. A marker file in the state folder
lists the paths meanwhile: after a kill, `sync_index` updates the index for those paths.
"""

from __future__ import annotations

import os

from engram.adapters.git.read import objects
from engram.adapters.git.run import layout, locks
from engram.adapters.git.run.runner import run
from engram.domain.errors import GitError, StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.run.layout import Repository

PATIENCE = 3.0  # seconds


def sync_index(repo: Repository, state_folder: str, *, patience: float = PATIENCE) -> int:
    """Finish what a killed process left: set the marked paths in the index to HEAD's entries.

    Returns the number of marked paths; 0 costs one file lookup. Other paths, staged or not, stay unchanged. During a
    merge or rebase nothing is done and the marker stays. Raises `GitError` if git is busy.
    """
    paths = pending(repo, state_folder)
    if not paths or layout.operation_in_progress(repo) not in (None, "detached"):
        return 0
    with locks.hold(index_lock(repo), patience):
        match_head(repo, paths)
    forget(repo, state_folder)
    return len(paths)


def match_head(repo: Repository, paths: Iterable[str]) -> None:
    """Set the paths in the index to HEAD's entries. The caller holds the index lock."""
    wanted = tuple(paths)
    entries = objects.entries(repo, layout.read_head(repo).oid, wanted)
    replace_entries(repo, {path: entries.get(path) for path in wanted})


def skip_worktree(repo: Repository, paths: Iterable[str]) -> None:
    """Set the skip-worktree bit of paths, so that missing files do not count as deleted. Raises GitError."""
    batch = os.fsencode("".join(f"{path}\0" for path in paths))
    if batch:
        run(repo, "update-index", "-z", "--skip-worktree", "--stdin", stdin=batch)


def index_lock(repo: Repository) -> str:
    """Return the path of the lock file of this work tree's index."""
    return os.path.join(repo.git_dir, "index.lock")


def replace_entries(repo: Repository, wanted: Mapping[str, Entry | None]) -> None:
    """Replace the index by one with the wanted entries (None: no entry). The caller holds the index lock."""
    copy = os.path.join(repo.git_dir, "index.engram")
    try:
        _prepare(repo, copy, wanted)
        _publish(repo, copy)
    finally:
        _discard(copy)


def _prepare(repo: Repository, copy: str, wanted: Mapping[str, Entry | None]) -> None:
    _discard(copy)  # left by a killed process
    _copy(os.path.join(repo.git_dir, "index"), copy)
    no_oid = "0" * (64 if layout.hash_name(repo) == "sha256" else 40)
    lines = (
        f"{entry.mode} {entry.oid} 0\t{path}" if entry else f"0 {no_oid} 0\t{path}"
        for path, entry in wanted.items()
    )
    batch = os.fsencode("".join(line + "\0" for line in lines))
    run(repo, "update-index", "-z", "--index-info", stdin=batch, env={"GIT_INDEX_FILE": copy})


def _publish(repo: Repository, copy: str) -> None:
    if not os.path.exists(copy):
        return  # git makes no index file if there was none and there are no entries
    index = os.path.join(repo.git_dir, "index")
    try:
        os.replace(copy, index)
    except OSError as error:
        raise GitError(f"{index} cannot be replaced: {error.strerror}.", "Check who owns it.") from error


def _discard(copy: str) -> None:
    for name in (copy, copy + ".lock"):
        if os.path.lexists(name):
            os.unlink(name)


def pending(repo: Repository, state_folder: str) -> tuple[str, ...]:
    """Return the marked paths, whose index entries may be behind HEAD."""
    try:
        with open(_marker(repo, state_folder), "rb") as file:
            return tuple(path for path in os.fsdecode(file.read()).split("\0") if path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(
            f"{error.filename} cannot be read: {error.strerror}.", "Check its permissions."
        ) from error


def remember(repo: Repository, state_folder: str, paths: Iterable[str]) -> None:
    """Mark further paths as about to change in HEAD, durably. Raises StoreError."""
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
            f"{marker} cannot be written: {error.strerror}.", "Check free space and permissions."
        ) from error


def forget(repo: Repository, state_folder: str) -> None:
    """Remove the marker: index and HEAD agree on its paths."""
    marker = _marker(repo, state_folder)
    if os.path.exists(marker):
        os.unlink(marker)


def _marker(repo: Repository, state_folder: str) -> str:
    # All work trees of a repository share the state folder, but not the index.
    return os.path.join(state_folder, f"index-behind-{repo.worktree_name}")


def _copy(source: str, target: str) -> None:
    try:
        with open(source, "rb") as old:
            content = old.read()
    except FileNotFoundError:
        return  # nothing was staged yet: git makes a new index
    try:
        with open(target, "wb") as new:
            new.write(content)
    except OSError as error:
        raise GitError(
            f"{target} cannot be written: {error.strerror}.", "Check free space and permissions."
        ) from error
