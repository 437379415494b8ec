"""All versions of one lore file that git has: beyond renames by the id in the file, not by likeness."""

from __future__ import annotations

import os

from engram.domain.errors import EngramError, StoreError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.files.codec import LoreFile
    from engram.adapters.git.history import LogEntry
    from engram.adapters.git.layout import Repository
    from engram.domain.lore import Lore
    from engram.usecases.store import Store


class Version(NamedTuple):
    """A commit that touched the file, the path it had there (relative to the work tree), its bytes (None: none)."""

    entry: LogEntry
    path: str
    raw: bytes | None


def repository_of(store: Store) -> Repository:
    """The store's repository. Raises StoreError for a store outside git."""
    if store.places.repository is None:
        raise StoreError(
            "This store is a folder outside git, so it has no history.", "`git init` there starts one."
        )
    return store.places.repository


def versions(store: Store, path: str, lore_id: str, limit: int) -> list[Version]:
    """The last `limit` versions of the lore at the store path, newest first. Raises StoreError, GitError."""
    from engram.adapters.git.history import log

    repository = repository_of(store)
    paths = [in_git(store, path)]
    looked: set[str] = set()
    while True:
        entries = log(repository, paths[0], limit, also=paths[1:])
        begun = [entry.oid for entry in entries if not entry.parents and entry.oid not in looked]
        looked.update(begun)
        older = {name for oid in begun for name in _names_before(store, oid, lore_id)} - {*paths}
        if not older:
            return _with_contents(store, entries, paths, lore_id)
        paths += sorted(older)


def _with_contents(
    store: Store, entries: Sequence[LogEntry], paths: Sequence[str], lore_id: str
) -> list[Version]:
    """The versions at these commits: with several paths at the one that holds the lore."""
    from engram.adapters.git.versions import read_objects

    names = [f"{entry.oid}:{path}" for entry in entries for path in paths]
    held = read_objects(repository_of(store), names)
    found = []
    for number, entry in enumerate(entries):
        here = held[number * len(paths) : (number + 1) * len(paths)]
        at = 0
        for place, raw in enumerate(here):
            file = read_lore(store, paths[place], raw) if len(paths) > 1 else None
            if file is not None and file.lore.id == lore_id:
                at = place
                break
        found.append(Version(entry, paths[at], here[at]))
    return found


def in_git(store: Store, path: str) -> str:
    """The store path as git knows it: relative to the work tree, which may be above the store."""
    top = os.path.realpath(repository_of(store).worktree)
    full = os.path.realpath(store.files.absolute(path))
    return os.path.relpath(full, top).replace(os.sep, "/")


def in_store(store: Store, name: str) -> str:
    """The store path of a path that git names."""
    top = os.path.realpath(repository_of(store).worktree)
    below = os.path.relpath(os.path.join(top, *name.split("/")), os.path.realpath(store.places.root))
    return below.replace(os.sep, "/")


def read_lore(store: Store, path: str, raw: bytes | None) -> LoreFile | None:
    """The lore of a version; None where it is none, or cannot be read."""
    if raw is None:
        return None
    from engram.adapters.files import codec

    try:
        return codec.read(raw, path, store.categories, store.clock.now())
    except EngramError:
        return None


def lore_of(store: Store, version: Version) -> Lore | None:
    """The lore that a version is."""
    file = read_lore(store, version.path, version.raw)
    return file.lore if file else None


def _names_before(store: Store, commit: str, lore_id: str) -> list[str]:
    """The paths from which a commit moved the lore; none where it was new."""
    from engram.adapters.git.versions import changes_of, read_objects

    repository = repository_of(store)
    gone = [step for step in changes_of(repository, commit) if step.after is None and step.before]
    held = read_objects(repository, [step.before or "" for step in gone])
    files = [(step.path, read_lore(store, step.path, raw)) for step, raw in zip(gone, held, strict=True)]
    return [path for path, file in files if file is not None and file.lore.id == lore_id]
