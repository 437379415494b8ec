"""Git's configuration as git reads it, read once and cached until one of its files changes.

A sync needs a dozen settings, and each `git config` is a process.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

from engram.adapters.git.run.process import run
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from engram.adapters.git.run.layout import Repository

SECONDS = (
    2.0  # for what no file known here shows: the condition of an include, the first file of a whole system
)
YOUNG = 20_000_000  # nanoseconds; what changed so shortly before it was read may have changed again since
_MOST = 16
_CHOICES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "HOME", "XDG_CONFIG_HOME")

Stamp = tuple[int, int, int, int] | None


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
    asked = (folder, *map(os.environ.get, _CHOICES))
    known = _known.get(asked)
    if (
        known
        and time.monotonic() < known.until
        and all(_stamp(at) == then for at, then in known.stamps.items())
    ):
        return known.settings
    began = time.time_ns()
    found = _read(folder)
    stamps = {file: _stamp(file) for file in (*_of_a_person(), *{setting.file for setting in found})}
    _known.pop(asked, None)
    if found and all(stamp is None or max(stamp[:2]) < began - YOUNG for stamp in stamps.values()):
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


def _of_a_person() -> list[str]:
    """Return the files that git reads for a person; they need not be there yet."""
    chosen = os.environ.get("GIT_CONFIG_GLOBAL")
    if chosen is not None:
        return [chosen]
    home = os.path.expanduser("~")
    other = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return [os.path.join(home, ".gitconfig"), os.path.join(other, "git", "config")]


def _stamp(file: str) -> Stamp:
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


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
    return f"{_clean(name) or NAME} <{_clean(email) or EMAIL}>"


def parse_person(text: str) -> str:
    """Return a `name <email>` or bare name, made safe to stand in a commit."""
    name, _, email = text.partition("<")
    return person(name, email)


def _clean(text: str) -> str:
    # Git's own crud rule (ident.c): no <>, no line ends or NUL, no punctuation at either end.
    kept = "".join(" " if character < " " or character in "<>\x7f" else character for character in text)
    return kept.strip(" .,:;\"\\'")


# The author: who `GIT_AUTHOR_NAME` and `GIT_AUTHOR_EMAIL` name, as for git's own commits, else the person of the configuration.


def author_name(where: Repository | str, noted: str) -> str:
    """Return the author's name as git would write it; "" where it has none. Raises `GitError`, OSError.

    `noted` is the path of a file that keeps what the configuration said, as long as none of its files changes: to record an
    entry takes no process then.
    """
    name = _clean(os.environ.get("GIT_AUTHOR_NAME", ""))
    if name:
        return name
    folder = where if isinstance(where, str) else where.worktree
    asked = json.dumps([folder, *map(os.environ.get, _CHOICES)])
    known = _read_note(noted)
    if known.get("asked") == asked and all(
        list(_stamp(file) or ()) == then for file, then in known["stamps"].items()
    ):
        return str(known["name"])
    began = time.time_ns()
    values = {key: value for key, value, _ in settings(where)}
    name = _clean(values.get("author.name") or values.get("user.name") or "")
    files = {*_of_a_person(), *{setting.file for setting in settings(where)}}
    stamps = {file: list(_stamp(file) or ()) for file in sorted(files)}
    if values and all(not stamp or max(stamp[:2]) < began - YOUNG for stamp in stamps.values()):
        _write_note(noted, {"asked": asked, "name": name, "stamps": stamps})
    return name


def environment_author() -> str:
    """Return `name <email>` as far as the environment names an author; "" where it does not."""
    name, email = (_clean(os.environ.get(f"GIT_AUTHOR_{part}", "")) for part in ("NAME", "EMAIL"))
    return f"{name} <{email}>" if name or email else ""


def author_or(text: str | None, committer: str) -> str:
    """Return an author as `name <email>`, with what it lacks taken from the committer."""
    name, _, email = (text or "").partition("<")
    own_name, _, own_email = committer.partition(" <")
    return person(_clean(name) or own_name, _clean(email.rstrip(">")) or own_email.rstrip(">"))


def _read_note(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return found if isinstance(found, dict) and isinstance(found.get("stamps"), dict) else {}
    except (OSError, ValueError):
        return {}


def _write_note(path: str, note: dict[str, object]) -> None:
    with (
        suppress(OSError),
        open(path, "w", encoding="utf-8") as file,
    ):  # half of it is none, and written again
        file.write(json.dumps(note))
