"""Git's configuration as git reads it, read once and cached until one of its files changes.

A sync needs a dozen settings, and each `git config` is a process.
"""

from __future__ import annotations

import os
import time

from engram.adapters.git.run.author import CHOICES, YOUNG, Stamp, clean, files_of_a_person, stamp
from engram.adapters.git.run.process import run
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

# For what no file known here shows: the condition of an include, the first file of a whole system.
SECONDS = 2.0
_MOST = 16


class Setting(NamedTuple):
    """One line of a configuration: the key (lower case but for its middle part), its value, its file."""

    key: str
    value: str
    file: str


class _Known(NamedTuple):
    settings: tuple[Setting, ...]
    stamps: dict[str, Stamp]
    until: float


_known: dict[tuple[str | None, ...], _Known] = {}


def settings(where: Repository | str) -> tuple[Setting, ...]:
    """Return all settings of a repository, or of a folder, in git's order: of a key the last counts.

    None where git cannot read them. Raises `GitError` where there is no git or no folder.
    """
    folder = where if isinstance(where, str) else where.worktree
    asked = (folder, *map(os.environ.get, CHOICES))
    known = _known.get(asked)
    if (
        known
        and time.monotonic() < known.until
        and all(stamp(at) == then for at, then in known.stamps.items())
    ):
        return known.settings
    began = time.time_ns()
    found = _read(folder)
    stamps = {file: stamp(file) for file in (*files_of_a_person(), *{setting.file for setting in found})}
    _known.pop(asked, None)
    if found and all(one is None or max(one[:2]) < began - YOUNG for one in stamps.values()):
        while len(_known) >= _MOST:
            _known.pop(next(iter(_known)), None)
        _known[asked] = _Known(found, stamps, time.monotonic() + SECONDS)
    return found


def value(where: Repository | str, key: str) -> str:
    """Return what a key is set to, its first and last part given in lower case; "" for nothing."""
    return next((setting.value for setting in reversed(settings(where)) if setting.key == key), "")


def _read(folder: str) -> tuple[Setting, ...]:
    result = run(folder, "config", "--list", "--show-origin", "-z")
    parts = os.fsdecode(result.stdout).split("\0") if result.code == 0 else []
    found = []
    for origin, line in zip(parts[0::2], parts[1::2], strict=False):
        kind, _, file = origin.partition(":")
        key, _, text = line.partition("\n")
        if kind == "file":  # and not Engram's own, from the command line
            found.append(Setting(key, text, os.path.join(folder, file)))
    return tuple(found)


# Keep git from running the filters that attributes name: a pulled `.gitattributes` may choose which, and for what.


def without_filters(folder: str) -> tuple[str, ...]:
    """Return the options with which a git command in `folder` runs no configured filter."""
    keys = (key.removeprefix("filter.") for key, _, _ in settings(folder) if key.startswith("filter."))
    names = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    emptied = [f"filter.{name}.{key}=" for name in names for key in ("process", "clean", "smudge")]
    emptied += [f"filter.{name}.required=false" for name in names]
    return tuple(word for setting in emptied for word in ("-c", setting))


# The committer: the person that git's configuration names, or Engram itself if it names none.

NAME = "Engram"
EMAIL = "engram@localhost"


def committer(repo: Repository) -> str:
    """`name <email>` from git's configuration (committer.*, then user.*), else Engram's own."""
    values = {key: value for key, value, _ in settings(repo)}
    name = values.get("committer.name") or values.get("user.name") or ""
    email = values.get("committer.email") or values.get("user.email") or ""
    return person(name, email)


def person(name: str, email: str) -> str:
    """Return `name <email>` without what git forbids in either, and with Engram's own where one is empty."""
    return f"{clean(name) or NAME} <{clean(email) or EMAIL}>"


def author_or(text: str | None, committer: str) -> str:
    """Return an author as `name <email>`, with what it lacks taken from the committer."""
    name, _, email = (text or "").partition("<")
    own_name, _, own_email = committer.partition(" <")
    return person(clean(name) or own_name, clean(email.rstrip(">")) or own_email.rstrip(">"))
