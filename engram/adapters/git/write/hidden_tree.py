"""Make the branch of lore and register its hidden work tree with git, locked, so that git never removes it.

`git worktree add --orphan` came with git 2.42 only; a first commit made by fast-import works everywhere.
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

NAME = "engram-lore"  # under which git keeps the work tree, and the folder in which it is made ready
_BACK, _LOCKED = "gitdir", "locked"  # files of git's: where the work tree is; why it is not to be removed
REASON = "Engram keeps this repository's lore here"


def tip(repo: Repository, ref: str = REF) -> str | None:
    """Return the commit that a branch is at; None where there is no such branch."""
    return commit_id(repo, ref) or None


def remote_tips(repo: Repository) -> dict[str, str]:
    """Return the remotes known to have the branch, and its commit there at the last fetch."""
    words = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes/")
    lines = (line.split(" ", 1) for line in os.fsdecode(run(repo, *words).stdout).splitlines())
    ending = f"/{BRANCH}"
    return {
        ref.removeprefix("refs/remotes/").removesuffix(ending): oid
        for oid, ref in lines
        if ref.endswith(ending)
    }


def begin(repo: Repository, files: Mapping[str, bytes], message: str, moment: int) -> str:
    """Make the branch with a first commit of these files; its id. Nothing but the branch is touched. Raises GitError."""
    edits = tuple(stream.Edit(path, Entry(PLAIN, ""), content) for path, content in files.items())
    committer = configuration.committer(repo)
    author = configuration.author_or(environment_author(), committer)
    data = stream.encode([stream.Draft(message, author, moment, edits)], REF, None, committer)
    name, _, email = committer.partition(" <")
    who = {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": email.rstrip(">")}
    words = (*DURABLE, "fast-import", "--quiet", "--date-format=raw")
    return run(repo, *words, stdin=data, env=who).stdout.decode("ascii").strip()


def create_from_remote(repo: Repository, remote: str, commit: str) -> None:
    """Make the branch from a remote's and set that as its upstream. Raises GitError."""
    run(repo, *DURABLE, "update-ref", "-m", "engram init", REF, commit, "0" * len(commit))
    run(repo, "config", f"branch.{BRANCH}.remote", remote)
    run(repo, "config", f"branch.{BRANCH}.merge", REF)


def find_checkout(repo: Repository) -> str | None:
    """Return a work tree, other than the hidden one, that has the branch checked out."""
    own = (root_in(repo.common_dir), _draft(repo.common_dir))
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
    draft = _draft(repo.common_dir)
    run(repo, "worktree", "add", "--no-checkout", "--lock", draft, BRANCH)
    made = layout.find_repository(draft)
    if made is None or made.common_dir != repo.common_dir:
        raise GitError(f"Git made no work tree at {draft}.", "Update git: 2.30 or later is needed.")
    _write(os.path.join(made.git_dir, _LOCKED), REASON)
    # Relative, and so still right after somebody has moved the repository.
    _write(os.path.join(draft, ".git"), f"gitdir: ../../worktrees/{made.worktree_name}")
    run(made, "read-tree", "HEAD")
    return made


def move_into_place(made: Repository) -> Repository:
    """Move a finished work tree to its final place: from then on the store is there. Raises OSError."""
    root = root_in(made.common_dir)
    _write(os.path.join(made.git_dir, _BACK), os.path.join(root, ".git"))
    if os.path.isdir(root):
        # Its files are somebody's until now; only what ties them to git is new.
        os.replace(os.path.join(made.worktree, ".git"), os.path.join(root, ".git"))
        shutil.rmtree(made.worktree)
    else:
        os.rename(made.worktree, root)
    return made._replace(worktree=root)


def discard(common_dir: str) -> None:
    """Unregister the hidden work tree if its folder is gone, and what a killed process had begun."""
    shutil.rmtree(_draft(common_dir), ignore_errors=True)
    registered = os.path.join(common_dir, "worktrees")
    for name in os.listdir(registered) if os.path.isdir(registered) else ():
        if _is_ours(os.path.join(registered, name)):
            shutil.rmtree(os.path.join(registered, name))


def is_registered(repo: Repository) -> bool:
    """Return whether git knows where this work tree is (repositories can be moved), and has it locked."""
    known = os.path.join(repo.git_dir, _text(repo.git_dir, _BACK))
    return os.path.realpath(known) == os.path.join(repo.worktree, ".git") and bool(
        _text(repo.git_dir, _LOCKED)
    )


def register(repo: Repository) -> None:
    """Record that in the repository."""
    _write(os.path.join(repo.git_dir, _BACK), os.path.join(repo.worktree, ".git"))
    _write(os.path.join(repo.git_dir, _LOCKED), REASON)


def _draft(common_dir: str) -> str:
    """Return where the work tree is made ready."""
    return os.path.join(common_dir, "engram", NAME)


def _text(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
            return file.read().strip()
    except OSError:
        return ""


def _is_ours(folder: str) -> bool:
    head, git_file, reason = (_text(folder, name) for name in ("HEAD", _BACK, _LOCKED))
    parts = git_file.replace("\\", "/").split("/")[-3:]
    begun = parts[0] == "engram" and parts[1:2] in (["worktree"], [NAME])
    return reason == REASON or (begun and head in (f"ref: {REF}", "ref: refs/heads/.invalid"))


def _write(path: str, line: str) -> None:
    with open(path + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(line + "\n")
    os.replace(path + ".new", path)
