"""Write the files of a foreign commit without git, outcome that no filter or hook runs."""

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

_BATCH_BYTES = 16 * 1024 * 1024


def files_of(repo: Repository, commit: str) -> dict[str, objects.Entry]:
    """Return all files of a commit."""
    found = differences(repo, None, commit)
    return {path: change.after for path, change in found.items() if change.after}


def store_settings(
    repo: Repository, entries: Mapping[str, objects.Entry], outcome: str
) -> dict[str, object] | None:
    """Return the commit's settings by key; None if it contains no store.

    Raises SyncBlockedError, with a message that ends with `outcome`, if the place of its entries cannot be determined.
    """
    entry = entries.get(CONFIG_NAME)
    if entry is None:
        return None
    incoming_paths.check_files(repo, {CONFIG_NAME: entry}, "lore", outcome)
    try:
        values, invalid = config_file.parse_leniently(blobs(repo, [entry.oid])[entry.oid], CONFIG_NAME)
        for key in invalid.keys() & {*GUARDED}:
            raise invalid[key]
    except ConfigError as error:
        raise SyncBlockedError(
            f"The {CONFIG_NAME} of that repository cannot be used: {error.message}",
            f"Have it corrected there; {outcome}.",
        ) from None
    return values


def check(
    repo: Repository,
    entries: Mapping[str, objects.Entry],
    folder: str,
    outcome: str,
    whose: str = "The remote's",
) -> dict[str, str]:
    """Return which of all files of a commit must not be checked out, each with why.

    Raises SyncBlockedError, with a message that ends with `outcome`, if none of them may be written here.
    """
    left_out = incoming_paths.check_files(repo, entries, folder, outcome, whose)
    return left_out | excluded_files.find_twins(
        repo, None, [path for path in entries if path not in left_out]
    )


def write_files(
    repo: Repository, entries: Mapping[str, objects.Entry], left_out: Collection[str] = ()
) -> None:
    """Write these files, except those `left_out`, to the work tree, where none of them exists yet. Raises OSError."""
    entries = {path: entry for path, entry in entries.items() if path not in left_out}
    size_of = sizes(repo, (entry.oid for entry in entries.values()))
    for batch in _batches(entries, size_of):
        contents = blobs(repo, (entries[path].oid for path in batch))
        for path in batch:
            file = os.path.join(repo.worktree, *path.split("/"))
            _write(file, contents[entries[path].oid], entries[path].mode)


def leave_out(repo: Repository, state_folder: str, found: Mapping[str, str]) -> None:
    """Note which files of the branch are not checked out, and mark them in git's index."""
    excluded_files.note_left_out(state_folder, found)
    staging.skip_worktree(repo, found)


def _batches(entries: Mapping[str, objects.Entry], size_of: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield the paths in batches whose files fit into memory."""
    batch: list[str] = []
    size = 0
    for path, entry in entries.items():
        more = size_of.get(entry.oid, 0)
        if batch and size + more > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += more
    yield batch


def _write(file: str, content: bytes, mode: str) -> None:
    os.makedirs(os.path.dirname(file), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(file, flags, 0o755 if mode == objects.EXECUTABLE else 0o644)
    with os.fdopen(handle, "wb") as opened:
        opened.write(content)
