"""The branch on which a code repository keeps its lore, apart from its code, and the hidden work tree of that branch.

Looking for it starts no git. The work tree is in the repository's git folder, where no `git clean` and no checkout
reaches it; what all work trees of a repository share, they share.
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
    """Return where a repository's hidden work tree is, or would be."""
    return os.path.join(common_dir, _FOLDER)


def state_in(common_dir: str) -> str:
    """Return where the store in it keeps its private state; this folder says that there is a store, on this machine."""
    return os.path.join(common_dir, _STATE)


def is_kept(common_dir: str, config_name: str) -> bool:
    """Return whether the repository keeps lore on the branch; also where the hidden work tree itself has vanished."""
    return os.path.isfile(os.path.join(root_in(common_dir), config_name)) or os.path.isdir(
        state_in(common_dir)
    )


def is_heard_of(common_dir: str) -> bool:
    """Return whether the repository, or a remote as it is known there, seems to have the branch: a guess from git's files."""
    refs = os.path.join(common_dir, "refs")
    with suppress(OSError), open(os.path.join(common_dir, "packed-refs"), "rb") as file:
        if f"/{BRANCH}\n".encode() in file.read():
            return True
    places = [os.path.join(refs, "heads")]
    with suppress(OSError):
        places += [os.path.join(refs, "remotes", name) for name in os.listdir(os.path.join(refs, "remotes"))]
    return any(os.path.isfile(os.path.join(place, BRANCH)) for place in places)


def is_hidden(repo: Repository) -> bool:
    """Return whether a work tree is the hidden one of its repository."""
    return repo.worktree == root_in(repo.common_dir)


def common_dir_of(root: str) -> str | None:
    """Return the git folder whose hidden work tree is, or was, `root`; None for every other folder."""
    if not root.endswith(_FOLDER):
        return None
    base = os.path.realpath(root).removesuffix(os.sep + _FOLDER)
    return base if layout.common_dir_at(base) == base else None


def top_of(repo: Repository) -> str:
    """Return the folder from which the repository's remotes are reached: a remote may be a path relative to the code's top."""
    if not is_hidden(repo):
        return repo.worktree
    above = os.path.dirname(repo.common_dir)
    around = layout.find_repository(above)
    return above if around is not None and around.git_dir == repo.common_dir else repo.common_dir


def check_head(repo: Repository, head: Head) -> None:
    """Raise GitError where a commit in the hidden work tree would not go upon the branch of lore."""
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
    """Return the error for a branch that somebody deleted; its last commit is named where it is still known."""
    last = _last_commit(repo) or "COMMIT"
    return GitError(
        f"The branch {BRANCH} was deleted from {repo.common_dir}; its lore cannot be committed.",
        f"Restore it: git branch {BRANCH} {last} (or git fetch origin {BRANCH}:{BRANCH}).",
    )


def _last_commit(repo: Repository) -> str:
    """Return the last commit that the hidden work tree was at, by its own log of HEAD."""
    try:
        with open(os.path.join(repo.git_dir, "logs", "HEAD"), encoding="utf-8", errors="replace") as log:
            words = [line.split(" ") for line in log]
    except OSError:
        return ""
    return next((line[1] for line in reversed(words) if len(line) > 1 and line[1].strip("0")), "")


# A log of the branch moves that Engram made. It knows which files those changed; other moves may have changed any.

_KEPT = 100  # moves


def note_move(repo: Repository, state_folder: str, old: str | None, new: str) -> None:
    """Record that Engram moved the branch of this work tree; without a record it counts as somebody else's move."""
    heads = _read(repo, state_folder)
    heads = [*heads, new] if heads[-1:] == [old or ""] else [old or "", new]
    draft = f"{_file(repo, state_folder)}.new"  # whoever moves the branch holds the commit lock
    with contextlib.suppress(OSError):
        with open(draft, "w", encoding="ascii") as file:
            file.write("\n".join(heads[-_KEPT:]))
        os.replace(draft, _file(repo, state_folder))


def own_moves_lead(repo: Repository, state_folder: str, old: str, new: str) -> bool:
    """Return whether only Engram's own moves led the branch from `old` to `new`."""
    heads = _read(repo, state_folder)
    return old in heads and heads[-1] == new


def _read(repo: Repository, state_folder: str) -> list[str]:
    try:
        with open(_file(repo, state_folder), encoding="ascii", errors="replace") as file:
            return file.read().split("\n")
    except OSError:
        return []


def _file(repo: Repository, state_folder: str) -> str:
    # The state folder is shared by all work trees of a repository, HEAD is not.
    return os.path.join(state_folder, f"own-moves-{repo.worktree_name}")
