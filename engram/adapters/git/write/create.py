"""Create a repository in which git never converts the line ends of lore files."""

from __future__ import annotations

import os

from engram.adapters.git.run import layout
from engram.adapters.git.run.runner import run
from engram.domain.errors import GitError, StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.git.run.layout import Repository

ATTRIBUTES = ".gitattributes"
BRANCH = "main"


def init(path: str, lore_folder: str = "lore") -> Repository:
    """Return the repository with the work tree `path`, made if necessary; an existing one is kept.

    Raises `GitError` if git cannot make one, `StoreError` if the folder cannot be written.
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
    disable_conversion(repo, lore_folder)
    return repo


def disable_conversion(repo: Repository, lore_folder: str = "lore") -> bool:
    """Make sure that .gitattributes has `<lore folder>/** -text`; return whether it was added."""
    return add_attributes(os.path.join(repo.worktree, ATTRIBUTES), [f"{lore_folder}/** -text"])


def own_attributes(repo: Repository) -> str:
    """Return the path of this clone's own attributes file, which is never committed."""
    return os.path.join(repo.common_dir, "info", "attributes")


def add_attributes(file: str, lines: Sequence[str]) -> bool:
    """Make sure that an attributes file has these lines; return whether one was added. Raises StoreError."""
    content = read_attributes(file)
    wanted = with_attributes(content, lines)
    if wanted == content:
        return False
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file + ".new", "wb") as opened:
            opened.write(wanted)
        os.replace(file + ".new", file)
    except OSError as error:
        raise StoreError(
            f"{file} cannot be written: {error.strerror}.", "Check free space and permissions."
        ) from error
    return True


def read_attributes(file: str) -> bytes:
    """Return the bytes of an attributes file; b"" if there is none. Raises StoreError, also for a link and the like."""
    if os.path.lexists(file) and (os.path.islink(file) or not os.path.isfile(file)):
        raise StoreError(f"{file} is not a regular file.", "Git does not read it either; remove it.")
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}.", "Check its permissions.") from error


def with_attributes(content: bytes, lines: Sequence[str]) -> bytes:
    """Return the content of an attributes file with missing lines appended."""
    present = [line.rstrip() for line in content.splitlines()]
    missing = [line.encode() for line in lines if line.encode() not in present]
    if missing and content and not content.endswith(b"\n"):
        content += b"\n"
    return content + b"".join(line + b"\n" for line in missing)
