"""The branch on which a code repository keeps its lore, separate from its code, and that branch's hidden work tree.

Finding it starts no git. The hidden work tree is in the git folder, where `git clean` and checkouts do not reach it, and
all work trees of the repository share it.
"""

from __future__ import annotations

import contextlib
import os
from contextlib import suppress

from engram.adapters.git.run import layout
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Head, Repository

BRANCH = "engram/lore"
REF = layout.BRANCHES + BRANCH
_FOLDER = os.path.join("engram", "worktree")
_STATE = os.path.join("engram", "branch")


def root_in(common_dir: str) -> str:
    """Return the path of a repository's hidden work tree, which need not exist."""
    return os.path.join(common_dir, _FOLDER)


def state_in(common_dir: str) -> str:
    """Return the folder of the store's private state; it exists only if there is a store on this machine."""
    return os.path.join(common_dir, _STATE)


def is_kept(common_dir: str, config_name: str) -> bool:
    """Return whether the repository keeps lore on the branch, even if the hidden work tree is missing."""
    return os.path.isfile(os.path.join(root_in(common_dir), config_name)) or os.path.isdir(
        state_in(common_dir)
    )


def may_exist(common_dir: str) -> bool:
    """Return whether the repository or a remote-tracking branch seems to have the branch: a guess from git's files."""
    refs = os.path.join(common_dir, "refs")
    with suppress(OSError), open(os.path.join(common_dir, "packed-refs"), "rb") as file:
        if f"/{BRANCH}\n".encode() in file.read():
            return True
    folders = [os.path.join(refs, "heads")]
    with suppress(OSError):
        folders += [os.path.join(refs, "remotes", name) for name in os.listdir(os.path.join(refs, "remotes"))]
    return any(os.path.isfile(os.path.join(folder, BRANCH)) for folder in folders)


def is_hidden(repo: Repository) -> bool:
    """Return whether a work tree is the hidden one of its repository."""
    return repo.worktree == root_in(repo.common_dir)


def common_dir_of(root: str) -> str | None:
    """Return the git folder whose hidden work tree is or was `root`; None for any other folder."""
    if not root.endswith(_FOLDER):
        return None
    base = os.path.realpath(root).removesuffix(os.sep + _FOLDER)
    return base if layout.common_dir_at(base) == base else None


def top_of(repo: Repository) -> str:
    """Return the folder in which to use the repository's remotes: their paths may be relative to the top of the code."""
    if not is_hidden(repo):
        return repo.worktree
    parent = os.path.dirname(repo.common_dir)
    found = layout.find_repository(parent)
    return parent if found is not None and found.git_dir == repo.common_dir else repo.common_dir


def check_head(repo: Repository, head: Head) -> None:
    """Raise GitError if a commit in the hidden work tree would not go to the branch of lore."""
    if not is_hidden(repo) or (head.branch == BRANCH and head.oid):
        return
    if head.branch not in (BRANCH, None):
        raise GitError(
            f"{repo.worktree} is on the branch {head.branch} instead of {BRANCH}; nothing was committed.",
            f"git -C '{repo.worktree}' switch {BRANCH}",
        )
    if head.branch == BRANCH:
        raise deleted_branch_error(repo)


def deleted_branch_error(repo: Repository) -> GitError:
    """Return the error for a deleted branch, which names its last commit if that is known."""
    last = _last_commit(repo) or "COMMIT"
    return GitError(
        f"The branch {BRANCH} was deleted from {repo.common_dir}; its lore cannot be committed.",
        f"Restore it: git branch {BRANCH} {last} (or git fetch origin {BRANCH}:{BRANCH}).",
    )


def _last_commit(repo: Repository) -> str:
    """Return the last commit of the hidden work tree, from its reflog of HEAD; "" if unknown."""
    try:
        with open(os.path.join(repo.git_dir, "logs", "HEAD"), encoding="utf-8", errors="replace") as log:
            words = [line.split(" ") for line in log]
    except OSError:
        return ""
    return next((line[1] for line in reversed(words) if len(line) > 1 and line[1].strip("0")), "")


# A log of the moves of the branch that Engram made. It knows which files these changed; other moves may have changed any.

_MAX_MOVES = 100


def note_move(repo: Repository, state_folder: str, old: str | None, new: str) -> None:
    """Record that Engram moved the branch of this work tree; a move without a record counts as another program's."""
    heads = _read_moves(repo, state_folder)
    heads = [*heads, new] if heads[-1:] == [old or ""] else [old or "", new]
    draft = f"{_moves_file(repo, state_folder)}.new"  # the caller holds the commit lock
    with contextlib.suppress(OSError):
        with open(draft, "w", encoding="ascii") as file:
            file.write("\n".join(heads[-_MAX_MOVES:]))
        os.replace(draft, _moves_file(repo, state_folder))


def own_moves_lead(repo: Repository, state_folder: str, old: str, new: str) -> bool:
    """Return whether the branch went from `old` to `new` only by Engram's own moves."""
    heads = _read_moves(repo, state_folder)
    return old in heads and heads[-1] == new


def _read_moves(repo: Repository, state_folder: str) -> list[str]:
    try:
        with open(_moves_file(repo, state_folder), encoding="ascii", errors="replace") as file:
            return file.read().split("\n")
    except OSError:
        return []


def _moves_file(repo: Repository, state_folder: str) -> str:
    # The state folder is shared by all work trees of a repository, HEAD is not.
    return os.path.join(state_folder, f"own-moves-{repo.worktree_name}")
