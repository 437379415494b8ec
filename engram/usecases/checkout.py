"""Writing the files of a commit that came from elsewhere: by Engram itself, so that nothing in them is executed."""

from __future__ import annotations

import os

from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git import tree
from engram.adapters.git.differences import blobs, differences, sizes
from engram.domain import sync_plan
from engram.domain.errors import SyncBlockedError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from engram.adapters.git.layout import Repository

AT_ONCE = 2000  # files


def files_of(repo: Repository, commit: str) -> dict[str, tree.Entry]:
    """Every file that a commit holds."""
    found = differences(repo, None, commit)
    return {path: one.after for path, one in found.items() if one.after}


def store_table(repo: Repository, entries: Mapping[str, tree.Entry]) -> dict[str, Any] | None:
    """The `[store]` table of the commit's settings; None where it holds no store. Raises SyncBlockedError."""
    import tomllib

    entry = entries.get(CONFIG_NAME)
    if entry is None or entry.mode not in sync_plan.REGULAR:
        return None
    try:
        found = tomllib.loads(blobs(repo, [entry.oid])[entry.oid].decode()).get("store", {})
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise SyncBlockedError(
            f"The {CONFIG_NAME} of that repository cannot be read.", "Have it mended there."
        ) from None
    return found if isinstance(found, dict) else {}


def check(
    repo: Repository,
    entries: Mapping[str, tree.Entry],
    folder: str,
    done: str,
    whose: str = "The remote's",
) -> None:
    """Raise SyncBlockedError if one of the files may not be written here; `done` says what was not done then."""
    size_of = sizes(repo, (entry.oid for entry in entries.values() if entry.mode != "160000"))
    for path, entry in sorted(entries.items()):
        why = sync_plan.refusal(path, entry.mode, size_of.get(entry.oid, 0), folder)
        if why:
            raise SyncBlockedError(
                f"{whose} {path!r} {why}; nothing was {done}.",
                "Have it removed from that branch first.",
            )


def write_files(repo: Repository, entries: Mapping[str, tree.Entry]) -> None:
    """Write these files into the repository's work tree, where none of them is yet. Raises OSError."""
    paths = list(entries)
    for at in range(0, len(paths), AT_ONCE):
        some = paths[at : at + AT_ONCE]
        contents = blobs(repo, (entries[path].oid for path in some))
        for path in some:
            file = os.path.join(repo.worktree, *path.split("/"))
            _write(file, contents[entries[path].oid], entries[path].mode)


def _write(file: str, content: bytes, mode: str) -> None:
    os.makedirs(os.path.dirname(file), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(file, flags, 0o755 if mode == tree.EXECUTABLE else 0o644)
    with os.fdopen(handle, "wb") as opened:
        opened.write(content)
