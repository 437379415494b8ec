"""The author: who `GIT_AUTHOR_NAME` and `GIT_AUTHOR_EMAIL` name, as for git's own commits, else whom the configuration does.

To record an entry asks for it each time, so this module imports nothing that starts a process until one is needed.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

YOUNG = 20_000_000  # nanoseconds; what changed so shortly before it was read may have changed again since
CHOICES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "HOME", "XDG_CONFIG_HOME")

Stamp = tuple[int, int, int, int] | None


def author_name(folder: str, noted: str, read: Callable[[], Sequence[tuple[str, str, str]]]) -> str:
    """Return the author's name as git would write it in a folder; "" where it has none. Raises as `read`.

    `read` reads the configuration (`configuration.settings`). `noted` is the path of a file that keeps what it said, as long
    as none of its files changes: to record an entry takes no process then.
    """
    name = clean(os.environ.get("GIT_AUTHOR_NAME", ""))
    if name:
        return name
    import json

    asked = json.dumps([folder, *map(os.environ.get, CHOICES)])
    known = _read_note(noted)
    if known.get("asked") == asked and all(
        list(stamp(file) or ()) == then for file, then in known["stamps"].items()
    ):
        return str(known["name"])
    began = time.time_ns()
    settings = read()
    values = {key: value for key, value, _ in settings}
    name = clean(values.get("author.name") or values.get("user.name") or "")
    files = {*files_of_a_person(), *{file for _, _, file in settings}}
    stamps = {file: list(stamp(file) or ()) for file in sorted(files)}
    if values and all(not one or max(one[:2]) < began - YOUNG for one in stamps.values()):
        _write_note(noted, {"asked": asked, "name": name, "stamps": stamps})
    return name


def environment_author() -> str:
    """Return `name <email>` as far as the environment names an author; "" where it does not."""
    name, email = (clean(os.environ.get(f"GIT_AUTHOR_{part}", "")) for part in ("NAME", "EMAIL"))
    return f"{name} <{email}>" if name or email else ""


def _read_note(path: str) -> dict[str, Any]:
    import json

    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return found if isinstance(found, dict) and isinstance(found.get("stamps"), dict) else {}
    except (OSError, ValueError):
        return {}


def _write_note(path: str, note: dict[str, object]) -> None:
    import json

    # Half of a note is none, and written again.
    with suppress(OSError), open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(note))


def files_of_a_person() -> list[str]:
    """Return the files that git reads for a person; they need not be there yet."""
    chosen = os.environ.get("GIT_CONFIG_GLOBAL")
    if chosen is not None:
        return [chosen]
    home = os.path.expanduser("~")
    other = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return [os.path.join(home, ".gitconfig"), os.path.join(other, "git", "config")]


def stamp(file: str) -> Stamp:
    """Return what changes when a file does; None where there is none."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def clean(text: str) -> str:
    """Return a name or address without what git takes out of one (ident.c): `<>`, line ends, punctuation at either end."""
    kept = "".join(" " if character < " " or character in "<>\x7f" else character for character in text)
    return kept.strip(" .,:;\"\\'")
