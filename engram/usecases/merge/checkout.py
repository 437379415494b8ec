"""Write the files of a commit that came from elsewhere: Engram does it itself, so that no filter or hook is run."""

from __future__ import annotations

import os

from engram.adapters.files import config_file
from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import blobs, differences, sizes
from engram.adapters.git.write import staging
from engram.domain.errors import ConfigError, SyncBlockedError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.merge import incoming_paths
from engram.usecases.store import excluded_files
from engram.usecases.store.accepted_settings import GUARDED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from engram.adapters.git.run.layout import Repository

BYTES_AT_ONCE = 16 * 1024 * 1024


def files_of(repo: Repository, commit: str) -> dict[str, objects.Entry]:
    """Return every file that a commit holds."""
    found = differences(repo, None, commit)
    return {path: one.after for path, one in found.items() if one.after}


def store_settings(
    repo: Repository, entries: Mapping[str, objects.Entry], so: str
) -> dict[str, object] | None:
    """Return the commit's settings by key; None where it holds no store. `so` ends the message of an error.

    Raises SyncBlockedError where they cannot be used to find entries.
    """
    entry = entries.get(CONFIG_NAME)
    if entry is None:
        return None
    incoming_paths.check_files(repo, {CONFIG_NAME: entry}, "lore", so)
    try:
        values, wrong = config_file.parse_kindly(blobs(repo, [entry.oid])[entry.oid], CONFIG_NAME)
        for key in wrong.keys() & {*GUARDED}:
            raise wrong[key]
    except ConfigError as error:
        raise SyncBlockedError(
            f"The {CONFIG_NAME} of that repository cannot be used: {error.message}",
            f"Have it corrected there; {so}.",
        ) from None
    return values


def check(
    repo: Repository,
    entries: Mapping[str, objects.Entry],
    folder: str,
    so: str,
    whose: str = "The remote's",
) -> dict[str, str]:
    """Return which of a commit's files (all of them) stay out of the work tree, each with why; `so` ends an error's message.

    Raises SyncBlockedError if nothing of it may be written here.
    """
    left_out = incoming_paths.check_files(repo, entries, folder, so, whose)
    return left_out | excluded_files.find_twins(
        repo, None, [path for path in entries if path not in left_out]
    )


def write_files(
    repo: Repository, entries: Mapping[str, objects.Entry], left_out: Collection[str] = ()
) -> None:
    """Write these files, but those `left_out`, into the repository's work tree, where none of them is yet. Raises OSError."""
    entries = {path: entry for path, entry in entries.items() if path not in left_out}
    size_of = sizes(repo, (entry.oid for entry in entries.values()))
    for some in _batches(entries, size_of):
        contents = blobs(repo, (entries[path].oid for path in some))
        for path in some:
            file = os.path.join(repo.worktree, *path.split("/"))
            _write(file, contents[entries[path].oid], entries[path].mode)


def leave_out(repo: Repository, state_folder: str, found: Mapping[str, str]) -> None:
    """Note which files of the branch stay out of the work tree, and mark them in git's index, which holds them."""
    excluded_files.note_left_out(state_folder, found)
    staging.leave_out(repo, found)


def _batches(entries: Mapping[str, objects.Entry], size_of: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield the paths in parts whose files fit into memory."""
    some: list[str] = []
    size = 0
    for path, entry in entries.items():
        more = size_of.get(entry.oid, 0)
        if some and size + more > BYTES_AT_ONCE:
            yield some
            some, size = [], 0
        some.append(path)
        size += more
    yield some


def _write(file: str, content: bytes, mode: str) -> None:
    os.makedirs(os.path.dirname(file), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(file, flags, 0o755 if mode == objects.EXECUTABLE else 0o644)
    with os.fdopen(handle, "wb") as opened:
        opened.write(content)
