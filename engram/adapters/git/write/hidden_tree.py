"""Create the branch of lore and register its hidden work tree with git, locked, so that git never removes it.

`git worktree add --orphan` needs git 2.42; a first commit made by fast-import works with every version.
"""

from __future__ import annotations

import os
import shutil

from engram.adapters.git.read.objects import PLAIN, Entry
from engram.adapters.git.read.versions import commit_id
from engram.adapters.git.run import configuration, layout
from engram.adapters.git.run.author import environment_author
from engram.adapters.git.run.process import DURABLE
from engram.adapters.git.run.runner import run
from engram.adapters.git.write import stream
from engram.adapters.git.write.lore_branch import BRANCH, REF, root_in
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.git.run.layout import Repository

NAME = "engram-lore"  # git's name of the work tree, and the folder in which it is prepared
_BACK, _LOCKED = "gitdir", "locked"  # git's files: the path of the work tree; why it must not be removed
REASON = "Engram keeps this repository's lore here"


def tip(repo: Repository, ref: str = REF) -> str | None:
    """Return the commit of a branch; None if there is no such branch."""
    return commit_id(repo, ref) or None


def remote_tips(repo: Repository) -> dict[str, str]:
    """Return the remotes known to have the branch, each with its commit as of the last fetch."""
    words = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes/")
    lines = (line.split(" ", 1) for line in os.fsdecode(run(repo, *words).stdout).splitlines())
    ending = f"/{BRANCH}"
    return {
        ref.removeprefix("refs/remotes/").removesuffix(ending): oid
        for oid, ref in lines
        if ref.endswith(ending)
    }


def begin(repo: Repository, files: Mapping[str, bytes], message: str, moment: int) -> str:
    """Create the branch with a first commit of these files and return its id; only the branch changes. Raises GitError."""
    edits = tuple(stream.Edit(path, Entry(PLAIN, ""), content) for path, content in files.items())
    committer = configuration.committer(repo)
    author = configuration.author_or(environment_author(), committer)
    data = stream.encode([stream.Draft(message, author, moment, edits)], REF, None, committer)
    env = configuration.committer_variables(committer)
    words = (*DURABLE, "fast-import", "--quiet", "--date-format=raw")
    return run(repo, *words, stdin=data, env=env).stdout.decode("ascii").strip()


def create_from_remote(repo: Repository, remote: str, commit: str) -> None:
    """Create the branch at a remote's commit, with that remote as its upstream. Raises GitError."""
    run(repo, *DURABLE, "update-ref", "-m", "engram init", REF, commit, "0" * len(commit))
    run(repo, "config", f"branch.{BRANCH}.remote", remote)
    run(repo, "config", f"branch.{BRANCH}.merge", REF)


def find_checkout(repo: Repository) -> str | None:
    """Return a work tree other than the hidden one that has the branch checked out; None if there is none."""
    own = (root_in(repo.common_dir), _draft_folder(repo.common_dir))
    listed = os.fsdecode(run(repo, "worktree", "list", "--porcelain").stdout)
    for block in listed.split("\n\n"):
        lines = block.splitlines()
        if f"branch {REF}" in lines:
            folder = lines[0].removeprefix("worktree ")
            if os.path.exists(folder) and os.path.realpath(folder) not in own:
                return folder
    return None


def add(repo: Repository) -> Repository:
    """Register a work tree of the branch, without files, in a folder next to the final one. Raises GitError."""
    discard(repo.common_dir)
    draft = _draft_folder(repo.common_dir)
    run(repo, "worktree", "add", "--no-checkout", "--lock", draft, BRANCH)
    made = layout.find_repository(draft)
    if made is None or made.common_dir != repo.common_dir:
        raise GitError(f"Git made no work tree at {draft}.", "Update git: 2.30 or later is needed.")
    _write(os.path.join(made.git_dir, _LOCKED), REASON)
    # Relative, so that it stays valid if the repository is moved.
    _write(os.path.join(draft, ".git"), f"gitdir: ../../worktrees/{made.worktree_name}")
    run(made, "read-tree", "HEAD")
    return made


def move_into_place(made: Repository) -> Repository:
    """Move a finished work tree to its final place, which makes the store. Raises OSError."""
    root = root_in(made.common_dir)
    _write(os.path.join(made.git_dir, _BACK), os.path.join(root, ".git"))
    if os.path.isdir(root):
        # Keep the files that are there; only their link to git is new.
        os.replace(os.path.join(made.worktree, ".git"), os.path.join(root, ".git"))
        shutil.rmtree(made.worktree)
    else:
        os.rename(made.worktree, root)
    return made._replace(worktree=root)


def discard(common_dir: str) -> None:
    """Unregister the hidden work tree, whose folder is missing, and remove what a killed process left."""
    shutil.rmtree(_draft_folder(common_dir), ignore_errors=True)
    registered = os.path.join(common_dir, "worktrees")
    for name in os.listdir(registered) if os.path.isdir(registered) else ():
        if _is_ours(os.path.join(registered, name)):
            shutil.rmtree(os.path.join(registered, name))


def is_registered(repo: Repository) -> bool:
    """Return whether git has the right path of this work tree (repositories can be moved), and has it locked."""
    known = os.path.join(repo.git_dir, _read_line(repo.git_dir, _BACK))
    return os.path.realpath(known) == os.path.join(repo.worktree, ".git") and bool(
        _read_line(repo.git_dir, _LOCKED)
    )


def register(repo: Repository) -> None:
    """Record the path of this work tree in the repository and lock it."""
    _write(os.path.join(repo.git_dir, _BACK), os.path.join(repo.worktree, ".git"))
    _write(os.path.join(repo.git_dir, _LOCKED), REASON)


def _draft_folder(common_dir: str) -> str:
    """Return the folder in which the work tree is prepared."""
    return os.path.join(common_dir, "engram", NAME)


def _read_line(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
            return file.read().strip()
    except OSError:
        return ""


def _is_ours(folder: str) -> bool:
    head, git_file, reason = (_read_line(folder, name) for name in ("HEAD", _BACK, _LOCKED))
    parts = git_file.replace("\\", "/").split("/")[-3:]
    is_unfinished = parts[0] == "engram" and parts[1:2] in (["worktree"], [NAME])
    return reason == REASON or (is_unfinished and head in (f"ref: {REF}", "ref: refs/heads/.invalid"))


def _write(path: str, line: str) -> None:
    with open(path + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(line + "\n")
    os.replace(path + ".new", path)
