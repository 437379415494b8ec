"""The author, from `GIT_AUTHOR_NAME` and `GIT_AUTHOR_EMAIL` or from git's configuration, as git itself does.

Every record of an entry needs it, so this module imports nothing that starts processes.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

# Nanoseconds: a file that changed so shortly before it was read may change again with the same mtime.
RACY_NS = 20_000_000
CONFIG_VARS = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "HOME", "XDG_CONFIG_HOME")

Stamp = tuple[int, int, int, int] | None


def author_name(folder: str, cache: str, read: Callable[[], Sequence[tuple[str, str, str]]]) -> str:
    """Return the author's name as git would write it in a folder; "" if there is none. Raises what `read` raises.

    `read` reads the configuration (`configuration.settings`). `cache` is the path of a file that keeps the name as long as
    no configuration file changes, so that recording an entry needs no process.
    """
    name = clean(os.environ.get("GIT_AUTHOR_NAME", ""))
    if name:
        return name
    import json

    key = json.dumps([folder, *map(os.environ.get, CONFIG_VARS)])
    known = _read_cache(cache)
    if known.get("asked") == key and all(
        list(stamp(file) or ()) == cached for file, cached in known["stamps"].items()
    ):
        return str(known["name"])
    began = time.time_ns()
    settings = read()
    values = {key: value for key, value, _ in settings}
    name = clean(values.get("author.name") or values.get("user.name") or "")
    files = {*user_config_files(), *{file for _, _, file in settings}}
    stamps = {file: list(stamp(file) or ()) for file in sorted(files)}
    if values and all(not found or max(found[:2]) < began - RACY_NS for found in stamps.values()):
        _write_cache(cache, {"asked": key, "name": name, "stamps": stamps})
    return name


def environment_author() -> str:
    """Return `name <email>`, or a part of it, from the environment; "" if it names no author."""
    name, email = (clean(os.environ.get(f"GIT_AUTHOR_{part}", "")) for part in ("NAME", "EMAIL"))
    return f"{name} <{email}>" if name or email else ""


def _read_cache(path: str) -> dict[str, Any]:
    import json

    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return found if isinstance(found, dict) and isinstance(found.get("stamps"), dict) else {}
    except (OSError, ValueError):
        return {}


def _write_cache(path: str, content: dict[str, object]) -> None:
    import json

    # A torn file is not valid JSON, and is written again.
    with suppress(OSError), open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(content))


def user_config_files() -> list[str]:
    """Return the paths of the user's configuration files of git, which need not exist."""
    chosen = os.environ.get("GIT_CONFIG_GLOBAL")
    if chosen is not None:
        return [chosen]
    home = os.path.expanduser("~")
    other = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return [os.path.join(home, ".gitconfig"), os.path.join(other, "git", "config")]


def stamp(file: str) -> Stamp:
    """Return mtime, ctime, size and inode of a file; None if there is none."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def clean(text: str) -> str:
    """Return a name or address without what git removes (ident.c): `<>`, line ends, punctuation at either end."""
    cleaned = "".join(" " if char < " " or char in "<>\x7f" else char for char in text)
    return cleaned.strip(" .,:;\"\\'")
