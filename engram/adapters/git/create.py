"""Make a repository in which git never converts the lore files' line ends."""

from __future__ import annotations

import os

from engram.adapters.git import layout
from engram.adapters.git.runner import run
from engram.domain.errors import GitError, StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.layout import Repository

ATTRIBUTES = ".gitattributes"
BRANCH = "main"


def init(path: str, lore_folder: str = "lore") -> Repository:
    """A repository whose work tree is `path`, made if need be; an existing one keeps all it has.

    Raises `GitError` when git cannot make one, `StoreError` when the folder cannot be written.
    """
    folder = os.path.realpath(path)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be created: {error.strerror}.", "Give another path.") from error
    repo = layout.find_repository(folder)
    if repo is None or repo.worktree != folder:
        run(folder, "-c", f"init.defaultBranch={BRANCH}", "init", "--quiet")
        repo = layout.find_repository(folder)
    if repo is None or repo.worktree != folder:
        raise GitError(
            f"{folder} cannot be a git work tree.", "Give a folder that is not inside a .git folder."
        )
    never_convert(repo, lore_folder)
    return repo


def never_convert(repo: Repository, lore_folder: str = "lore") -> bool:
    """Make sure that .gitattributes holds `<lore folder>/** -text`; True when it had to be added."""
    file = os.path.join(repo.worktree, ATTRIBUTES)
    line = f"{lore_folder}/** -text".encode()
    try:
        with open(file, "rb") as opened:
            content = opened.read()
    except FileNotFoundError:
        content = b""
    if line in content.splitlines():
        return False
    if content and not content.endswith(b"\n"):
        content += b"\n"
    try:
        with open(file + ".new", "wb") as opened:
            opened.write(content + line + b"\n")
        os.replace(file + ".new", file)
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror}.", "Check disk and rights.") from error
    return True
