"""Keep a repository's lore on its own branch: create it, fetch it from a remote, restore its hidden work tree."""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.lock import FileLock
from engram.adapters.files.durable.write import Journal
from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.remote import remotes
from engram.adapters.git.run import layout
from engram.adapters.git.write import hidden_tree, ledger_branch, lore_branch
from engram.domain.errors import RemoteError, StoreError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.merge import checkout, incoming_paths
from engram.usecases.store import excluded_files

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from engram.adapters.git.read import objects
    from engram.adapters.git.run.layout import Repository

_LOCK = "making.lock"


class BranchStart(NamedTuple):
    """The origin of the branch: the remote from which it was taken ("": it is new), or why a remote could not be asked."""

    remote: str
    fetch_error: str


def begin(
    repo: Repository,
    folder: str,
    config: bytes,
    moment: int,
    timeout: float = remotes.DEADLINE,
    step: Callable[[str], None] | None = None,
) -> BranchStart:
    """Make a store on the branch of the repository, or take an existing branch, here or at a remote.

    `moment` is in Unix seconds, `timeout` in seconds; `step` gets the remote that is asked. An unreachable remote is no
    error: the next sync merges both. Raises StoreError if the branch holds no store or is checked out elsewhere,
    SyncBlockedError, GitError.
    """
    with placement_lock(repo.common_dir):
        start = BranchStart("", "")
        if hidden_tree.tip(repo) is None:
            check_name_is_free(repo)
            known, fetch_error = at_remotes(repo, timeout, step)
            if known:
                remote = _choose_remote(known)
                _check_commit(repo, known[remote])
                hidden_tree.create_from_remote(repo, remote, known[remote])
                start = BranchStart(remote, "")
            else:
                files = {CONFIG_NAME: config, ".gitattributes": attributes(folder)}
                hidden_tree.begin(repo, files, "Start an Engram store", moment)
                start = BranchStart("", fetch_error)
        check_out(repo)
    return start


def at_remotes(
    repo: Repository, timeout: float = remotes.DEADLINE, step: Callable[[str], None] | None = None
) -> tuple[dict[str, str], str]:
    """Return the commits of the branch by remote, and why a remote could not be asked ("" if all were).

    A single-branch clone, such as a shallow one, knows nothing of other branches, and any clone knows only what it fetched
    last. So the default remote is asked unless it is known to have the branch. Raises GitError.
    """
    known, fetch_error = hidden_tree.remote_tips(repo), ""
    names = [remote.name for remote in remotes.remotes(repo)]
    for name in [remotes.DEFAULT] if remotes.DEFAULT in names else names:
        if name in known:
            continue
        if step is not None:
            step(f"asking {name}")
        try:
            branch = remotes.Counterpart(name, lore_branch.BRANCH)
            commit = remotes.fetch(repo, branch, deadline=timeout, also=ledger_branch.BRANCH)
        except RemoteError as error:
            fetch_error = error.message
            continue
        if commit is not None:
            known[name] = commit
    return known, fetch_error


def check_out(repo: Repository) -> Repository:
    """Check the branch out into the hidden work tree, which appears atomically.

    Files in the write journal that are not in git are written, too, so that none looks deleted. Hold the lock of `placement_lock`.
    """
    from engram.usecases.merge.install_driver import install_merge_driver

    commit = hidden_tree.tip(repo)
    if commit is None:
        raise lore_branch.deleted_branch_error(repo)
    entries, folder, left_out = _check_commit(repo, commit)
    checked_out_at = hidden_tree.find_checkout(repo)
    if checked_out_at is not None:
        raise StoreError(
            f"The branch {lore_branch.BRANCH} is checked out at {checked_out_at}.",
            "Engram needs it for itself: switch to another branch there, then try again.",
        )
    try:
        tree = hidden_tree.add(repo)
        _write_missing(tree, entries, repo.common_dir, left_out)
        os.makedirs(lore_branch.state_in(repo.common_dir), exist_ok=True)
        checkout.leave_out(tree, lore_branch.state_in(repo.common_dir), left_out)
        install_merge_driver(tree, folder, tree.worktree, attributes=False)
        return hidden_tree.move_into_place(tree)
    except OSError as error:
        raise atomic.write_error(str(error.filename or repo.common_dir), error) from None


def restore(common_dir: str) -> Repository:
    """Restore the hidden work tree after it, or its link to git, was deleted. Raises StoreError, GitError."""
    with placement_lock(common_dir):
        root = lore_branch.root_in(common_dir)
        found = layout.find_repository(root)
        has_config = os.path.isfile(os.path.join(root, CONFIG_NAME))
        if found is not None and has_config:
            return found  # another process was faster
        repo = layout.repository_at(common_dir)
        assert repo is not None
        if found is None:
            found = check_out(repo)
        if not has_config:
            commit = layout.read_head(found).oid
            if commit is None:
                raise lore_branch.deleted_branch_error(found)
            left_out = excluded_files.read_left_out(lore_branch.state_in(common_dir))
            _write_missing(found, checkout.files_of(found, commit), common_dir, left_out)
        return found


def branch_hint(path: str) -> str:
    """Return a hint about a branch of lore in the repository at `path`, or "", for when no store is found."""
    repo = layout.repository_at(path)
    if repo is None:
        return ""
    if hidden_tree.tip(repo):
        return f"This repository has a branch {lore_branch.BRANCH}; `engram init` makes it the store."
    remote = min(hidden_tree.remote_tips(repo), default="")
    hint = f"{remote} has lore of this repository, on the branch {lore_branch.BRANCH}"
    return f"{hint}; `engram init` takes it." if remote else ""


def attributes(folder: str) -> bytes:
    """Return the .gitattributes of a store on its own branch."""
    from engram.adapters.git.write.create import with_attributes
    from engram.usecases.merge.install_driver import attribute_lines

    return with_attributes(b"", attribute_lines(folder))


def placement_lock(common_dir: str) -> FileLock:
    """Return the lock for making or removing the hidden work tree, to be used with `with`. Raises StoreError."""
    base = os.path.join(common_dir, "engram")
    try:
        os.makedirs(base, exist_ok=True)
    except OSError as error:
        raise atomic.write_error(base, error) from None
    return FileLock(os.path.join(base, _LOCK))


def check_name_is_free(repo: Repository) -> None:
    """Raise StoreError if another branch's name makes the branch impossible in git."""
    first = lore_branch.BRANCH.partition("/")[0]
    if hidden_tree.tip(repo, layout.BRANCHES + first):
        raise StoreError(
            f"A branch named {first} is in the way: git cannot have {lore_branch.BRANCH} beside it.",
            f"Rename it (git branch -m {first} NAME), or choose --placement in-tree.",
        )


def _choose_remote(known: dict[str, str]) -> str:
    if "origin" in known or len(known) == 1:
        return "origin" if "origin" in known else next(iter(known))
    raise UsageError(
        f"Several remotes have a branch {lore_branch.BRANCH}: {', '.join(sorted(known))}.",
        f"Choose one: git branch {lore_branch.BRANCH} {min(known)}/{lore_branch.BRANCH}, then `engram init`.",
    )


def _check_commit(repo: Repository, commit: str) -> tuple[dict[str, objects.Entry], str, dict[str, str]]:
    """Return the files of a commit, its lore folder, and the files to be left out of the work tree.

    Raises StoreError, or SyncBlockedError if it must not be checked out.
    """
    incoming_paths.check_commits(repo, None, commit, incoming_paths.NOT_WRITTEN)
    entries = checkout.files_of(repo, commit)
    found = checkout.store_settings(repo, entries, incoming_paths.NOT_WRITTEN)
    if found is None:
        raise StoreError(
            f"The branch {lore_branch.BRANCH} of this repository holds no store.",
            f"If it is somebody's, rename it: git branch -m {lore_branch.BRANCH} NAME",
        )
    folder = str(found.get("store.folder", "lore"))
    return entries, folder, checkout.check(repo, entries, folder, incoming_paths.NOT_WRITTEN)


def _write_missing(
    tree: Repository, entries: dict[str, objects.Entry], common_dir: str, left_out: Collection[str]
) -> None:
    """Write the missing files of the commit, and the pending changes in the journal of a store that vanished."""
    present = {path for path in entries if os.path.lexists(os.path.join(tree.worktree, *path.split("/")))}
    pending = {
        change.path: change.content
        for operation in Journal(lore_branch.state_in(common_dir)).waiting()
        for change in operation.changes
    }
    missing = {path: entry for path, entry in entries.items() if path not in present and path not in pending}
    checkout.write_files(tree, missing, left_out)
    for path, content in pending.items():
        file = os.path.join(tree.worktree, *path.split("/"))
        if content is not None and not os.path.lexists(file):
            os.makedirs(os.path.dirname(file), exist_ok=True)
            atomic.write(file, content, "restore")
