"""A log of the branch moves that Engram made. It knows which files those changed; other moves may have changed any."""

from __future__ import annotations

import contextlib
import os

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

_KEPT = 100  # moves


def note(repo: Repository, state_folder: str, old: str | None, new: str) -> None:
    """Record that Engram moved the branch of this work tree; without a record it counts as somebody else's move."""
    heads = _read(repo, state_folder)
    heads = [*heads, new] if heads[-1:] == [old or ""] else [old or "", new]
    draft = f"{_file(repo, state_folder)}.new"  # whoever moves the branch holds the commit lock
    with contextlib.suppress(OSError):
        with open(draft, "w", encoding="ascii") as file:
            file.write("\n".join(heads[-_KEPT:]))
        os.replace(draft, _file(repo, state_folder))


def lead(repo: Repository, state_folder: str, old: str, new: str) -> bool:
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
