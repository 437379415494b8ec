"""Keep a repository's lore on a branch of its own: create it, fetch it from a remote, restore its hidden work tree."""

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


class Begun(NamedTuple):
    """Where the branch is from: the remote it was taken from ("": it is new); `unasked` says why a remote was not asked."""

    remote: str
    unasked: str


def begin(
    repo: Repository,
    folder: str,
    config: bytes,
    moment: int,
    timeout: float = remotes.DEADLINE,
    step: Callable[[str], None] | None = None,
) -> Begun:
    """Make a store on the branch of the repository, or take the branch that is there, here or at a remote.

    `moment` in unix seconds, `timeout` in seconds; `step` hears which remote is asked. A remote that cannot be reached
    is no error: the next sync joins what both have.
    Raises StoreError where the branch holds no store or is checked out elsewhere, SyncBlockedError, GitError.
    """
    with making(repo.common_dir):
        begun = Begun("", "")
        if hidden_tree.tip(repo) is None:
            check_name_is_free(repo)
            known, unasked = at_remotes(repo, timeout, step)
            if known:
                remote = _choose_remote(known)
                _check_commit(repo, known[remote])
                hidden_tree.create_from_remote(repo, remote, known[remote])
                begun = Begun(remote, "")
            else:
                files = {CONFIG_NAME: config, ".gitattributes": attributes(folder)}
                hidden_tree.begin(repo, files, "Start an Engram store", moment)
                begun = Begun("", unasked)
        check_out(repo)
    return begun


def at_remotes(
    repo: Repository, timeout: float = remotes.DEADLINE, step: Callable[[str], None] | None = None
) -> tuple[dict[str, str], str]:
    """Return the remotes that have the branch and its commit there, and why one could not be asked ("" if all were).

    A clone of one branch, as a shallow clone is, knows nothing of the others, and any clone knows only what it fetched
    last. So the remote that syncs go to is asked unless it is known to have the branch. Raises GitError.
    """
    known, unasked = hidden_tree.remote_tips(repo), ""
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
            unasked = error.message
            continue
        if commit is not None:
            known[name] = commit
    return known, unasked


def check_out(repo: Repository) -> Repository:
    """Check the branch out into the hidden work tree, which appears whole.

    What the write journal holds and git does not is written too, so that nothing looks deleted. Call it under the
    lock of `making`.
    """
    from engram.usecases.merge.install_driver import install_merge_driver

    commit = hidden_tree.tip(repo)
    if commit is None:
        raise lore_branch.deleted_branch_error(repo)
    entries, folder, left_out = _check_commit(repo, commit)
    elsewhere = hidden_tree.find_checkout(repo)
    if elsewhere is not None:
        raise StoreError(
            f"The branch {lore_branch.BRANCH} is checked out at {elsewhere}.",
            "Engram needs it for itself: switch to another branch there, then try again.",
        )
    try:
        made = hidden_tree.add(repo)
        _write_missing(made, entries, repo.common_dir, left_out)
        os.makedirs(lore_branch.state_in(repo.common_dir), exist_ok=True)
        checkout.leave_out(made, lore_branch.state_in(repo.common_dir), left_out)
        install_merge_driver(made, folder, made.worktree, attributes=False)
        return hidden_tree.move_into_place(made)
    except OSError as error:
        raise atomic.unwritable(str(error.filename or repo.common_dir), error) from None


def restore(common_dir: str) -> Repository:
    """Bring the hidden work tree back after somebody deleted it, or what ties it to git. Raises StoreError, GitError."""
    with making(common_dir):
        root = lore_branch.root_in(common_dir)
        found = layout.find_repository(root)
        has_config = os.path.isfile(os.path.join(root, CONFIG_NAME))
        if found is not None and has_config:
            return found  # somebody was faster
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
    """Return a sentence about lore that the repository at `path` could have, or ""; for who looks in vain for a store."""
    repo = layout.repository_at(path)
    if repo is None:
        return ""
    if hidden_tree.tip(repo):
        return f"This repository has a branch {lore_branch.BRANCH}; `engram init` makes it the store."
    having = sorted(hidden_tree.remote_tips(repo))
    known = f"{having[0]} has lore of this repository, on the branch {lore_branch.BRANCH}" if having else ""
    return f"{known}; `engram init` takes it." if known else ""


def attributes(folder: str) -> bytes:
    """Return the .gitattributes of a store that has a branch for itself."""
    from engram.adapters.git.write.create import with_attributes
    from engram.usecases.merge.install_driver import attribute_lines

    return with_attributes(b"", attribute_lines(folder))


def making(common_dir: str) -> FileLock:
    """Return the lock of whoever makes or takes away the hidden work tree; use it with `with`. Raises StoreError."""
    base = os.path.join(common_dir, "engram")
    try:
        os.makedirs(base, exist_ok=True)
    except OSError as error:
        raise atomic.unwritable(base, error) from None
    return FileLock(os.path.join(base, _LOCK))


def check_name_is_free(repo: Repository) -> None:
    """Raise StoreError where git cannot have the branch because of another one's name."""
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
    """Return the files of a commit, its lore folder, and which of the files stay out of the work tree.

    Raises StoreError, SyncBlockedError where it may not be checked out.
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
    made: Repository, entries: dict[str, objects.Entry], common_dir: str, left_out: Collection[str]
) -> None:
    """Write the files of the commit that are not there, and what waits in the journal of a store that vanished."""
    there = {path for path in entries if os.path.lexists(os.path.join(made.worktree, *path.split("/")))}
    waiting = {
        change.path: change.content
        for operation in Journal(lore_branch.state_in(common_dir)).waiting()
        for change in operation.changes
    }
    missing = {path: entry for path, entry in entries.items() if path not in there and path not in waiting}
    checkout.write_files(made, missing, left_out)
    for path, content in waiting.items():
        file = os.path.join(made.worktree, *path.split("/"))
        if content is not None and not os.path.lexists(file):
            os.makedirs(os.path.dirname(file), exist_ok=True)
            atomic.write(file, content, "restore")
