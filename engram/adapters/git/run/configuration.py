"""Git's configuration, read by git and cached until one of its files changes.

A sync needs a dozen settings, and each `git config` is a process.
"""

from __future__ import annotations

import os
import time

from engram.adapters.git.run.author import CONFIG_VARS, RACY_NS, Stamp, clean, stamp, user_config_files
from engram.adapters.git.run.process import run
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

# Limits the age of changes that no known file shows: the condition of an include, a new system-wide file.
SECONDS = 2.0
_MAX_CACHED = 16


class Setting(NamedTuple):
    """One line of a configuration: the key (lower case except for its middle part), the value and the file."""

    key: str
    value: str
    file: str


class _Cached(NamedTuple):
    settings: tuple[Setting, ...]
    stamps: dict[str, Stamp]
    until: float


_cache: dict[tuple[str | None, ...], _Cached] = {}


def settings(where: Repository | str) -> tuple[Setting, ...]:
    """Return all settings of a repository or a folder, in git's order: the last one of a key counts.

    They are empty if git cannot read them. Raises `GitError` if git or the folder is missing.
    """
    folder = where if isinstance(where, str) else where.worktree
    key = (folder, *map(os.environ.get, CONFIG_VARS))
    cached = _cache.get(key)
    if (
        cached
        and time.monotonic() < cached.until
        and all(stamp(file) == before for file, before in cached.stamps.items())
    ):
        return cached.settings
    began = time.time_ns()
    found = _read(folder)
    stamps = {file: stamp(file) for file in (*user_config_files(), *{setting.file for setting in found})}
    _cache.pop(key, None)
    if found and all(times is None or max(times[:2]) < began - RACY_NS for times in stamps.values()):
        while len(_cache) >= _MAX_CACHED:
            _cache.pop(next(iter(_cache)), None)
        _cache[key] = _Cached(found, stamps, time.monotonic() + SECONDS)
    return found


def value(where: Repository | str, key: str) -> str:
    """Return the value of a key, given with its first and last part in lower case; "" if it is not set."""
    return next((setting.value for setting in reversed(settings(where)) if setting.key == key), "")


def _read(folder: str) -> tuple[Setting, ...]:
    result = run(folder, "config", "--list", "--show-origin", "-z")
    parts = os.fsdecode(result.stdout).split("\0") if result.code == 0 else []
    found = []
    for origin, line in zip(parts[0::2], parts[1::2], strict=False):
        kind, _, file = origin.partition(":")
        key, _, text = line.partition("\n")
        if kind == "file":  # not Engram's own settings from the command line
            found.append(Setting(key, text, os.path.join(folder, file)))
    return tuple(found)


# A pulled `.gitattributes` may choose filters and their files, so git must not run any.


def without_filters(folder: str) -> tuple[str, ...]:
    """Return the options that make a git command in `folder` run no configured filter."""
    keys = (key.removeprefix("filter.") for key, _, _ in settings(folder) if key.startswith("filter."))
    names = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    emptied = [f"filter.{name}.{key}=" for name in names for key in ("process", "clean", "smudge")]
    emptied += [f"filter.{name}.required=false" for name in names]
    return tuple(word for setting in emptied for word in ("-c", setting))


# The committer: the person that git's configuration names, or Engram itself if it names none.

NAME = "Engram"
EMAIL = "engram@localhost"


def committer(repo: Repository) -> str:
    """Return `name <email>` from git's configuration (committer.*, then user.*), else Engram's own."""
    values = {key: value for key, value, _ in settings(repo)}
    name = values.get("committer.name") or values.get("user.name") or ""
    email = values.get("committer.email") or values.get("user.email") or ""
    return person(name, email)


def committer_variables(committer: str) -> dict[str, str]:
    """Return the variables that name the committer, without which git may look up this machine's name in the network."""
    name, _, email = committer.partition(" <")
    return {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": email.rstrip(">")}


def person(name: str, email: str) -> str:
    """Return `name <email>` without what git forbids, and with Engram's own for an empty part."""
    return f"{clean(name) or NAME} <{clean(email) or EMAIL}>"


def author_or(text: str | None, committer: str) -> str:
    """Return an author as `name <email>`, with missing parts taken from the committer."""
    name, _, email = (text or "").partition("<")
    own_name, _, own_email = committer.partition(" <")
    return person(clean(name) or own_name, clean(email.rstrip(">")) or own_email.rstrip(">"))
