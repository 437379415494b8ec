"""Git's configuration. A sync asks for it again and again, and each question is a process: so it is read once for all of it."""

from __future__ import annotations

import contextlib
import os

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.git.layout import Repository

    Listed = tuple[tuple[str, str], ...]

_known: dict[str, Listed] = {}
_of_remotes: dict[str, tuple[tuple[int, int, int], Listed]] = {}
_reading: list[str] = []  # what is under way that reads them once


def listed(where: Repository | str) -> Listed:
    """Every setting that counts in a work tree or folder, as `section.Name.key` and value, in git's order.

    Section and key are in lower case, and a key may be there many times. Empty where git cannot read it.
    """
    folder = where if isinstance(where, str) else where.worktree
    found = _known.get(folder)
    if found is None:
        found = _read(folder)
        if _reading:
            _known[folder] = found
    return found


def of_remotes(repo: Repository) -> Listed:
    """What is said of remotes and branches: read again when the repository's own configuration was written.

    A program that stays open asks for it with every look at its status.
    """
    try:
        found = os.stat(os.path.join(repo.common_dir, "config"))
    except OSError:
        return listed(repo)
    stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
    known = _of_remotes.get(repo.worktree)
    if known is None or known[0] != stamp:
        said = tuple((key, text) for key, text in listed(repo) if key.startswith(("remote.", "branch.")))
        known = _of_remotes[repo.worktree] = (stamp, said)
    return known[1]


def value(where: Repository | str, key: str) -> str:
    """The last value of a setting; "" where there is none. `key` is spelled as in `listed`."""
    return next((text for name, text in reversed(listed(where)) if name == key), "")


def change(repo: Repository, key: str, text: str) -> None:
    """Set a setting in the repository's own configuration. Raises GitError."""
    from engram.adapters.git.runner import run

    run(repo, "config", key, text)
    _known.clear()


@contextlib.contextmanager
def read_once(what: str = "sync") -> Iterator[None]:
    """Within this, what was read is not read again; what others change meanwhile counts afterwards."""
    _reading.append(what)
    try:
        yield
    finally:
        _reading.pop()
        if not _reading:
            _known.clear()


def _read(folder: str) -> Listed:
    from engram.adapters.git.runner import run

    said = run(folder, "config", "-z", "--list", check=False).stdout
    items = (item.partition("\n") for item in os.fsdecode(said).split("\0") if item)
    return tuple((key, text) for key, _, text in items)
