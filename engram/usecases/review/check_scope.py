"""Which files of a store a check is about: those at some paths, and of them those that changed since a commit."""

from __future__ import annotations

import os

from engram.adapters.files import scan as walk
from engram.domain.errors import EngramError, UsageError
from engram.domain.sync.sync_plan import REGULAR
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission.outgoing_secrets import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.adapters.git.read.tree import Entry
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store


class Checked(NamedTuple):
    """The files (store paths) that a check is about, sorted; `gone` are the ids of lore deleted since the commit."""

    paths: tuple[str, ...]
    gone: frozenset[str] = frozenset()


def files_to_check(store: Store, paths: Sequence[str], base: str) -> Checked:
    """The lore files at or below `paths` (of the file system; none: all) that are not as in the commit `base` ("": all).

    Files that are not lore's are left out. Raises UsageError for a path where there is nothing, GitError.
    """
    found = walk.scan(store.places.root, store.places.folder)
    wanted = at_paths(store, paths)
    there = {*found.files, *found.problems, *_entities(store)}
    here = sorted(path for path in there if wanted(path))
    if not base:
        return Checked(tuple(here))
    from engram.adapters.git.read.revisions import entries_at
    from engram.adapters.git.run import layout
    from engram.usecases.store.lineage import repository_of

    repository = repository_of(store)
    prefix = git_prefix(store, repository)
    before = {
        path.removeprefix(prefix): entry
        for path, entry in entries_at(repository, base, prefix + store.places.folder).items()
    }
    algorithm = layout.hash_name(repository)
    changed = tuple(path for path in here if not _is_as_before(store, path, before.get(path), algorithm))
    gone = [entry.oid for path, entry in before.items() if entry.mode in REGULAR and path not in there]
    return Checked(changed, _ids_of(store, repository, gone))


def _entities(store: Store) -> list[str]:
    from engram.usecases.graph.entities import read_entities

    found = read_entities(store)
    return sorted({*found.paths.values(), *(problem.path for problem in found.problems)})


def git_prefix(store: Store, repository: Repository) -> str:
    """What git's paths have before the store's: "" where the store is the top of the repository, else ending in `/`."""
    below = os.path.relpath(os.path.realpath(store.places.root), os.path.realpath(repository.worktree))
    return "" if below == "." else below.replace(os.sep, "/") + "/"


def at_paths(store: Store, paths: Sequence[str]) -> Callable[[str], bool]:
    """Whether a store path is at or below one of `paths` of the file system (none: any is). Raises UsageError."""
    if not paths:
        return bool
    root = os.path.realpath(store.places.root)
    wanted = []
    for given in paths:
        full = os.path.abspath(os.path.expanduser(given))
        if not os.path.lexists(full):
            raise UsageError(f"There is nothing at {given[:200]}.", "Name files or folders of lore.")
        full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        below = os.path.relpath(full, root).replace(os.sep, "/")
        wanted.append("" if below == "." or _holds(full, root) else below)
    exact, folders = set(wanted), tuple(f"{path}/" for path in wanted if path)
    return lambda path: "" in exact or path in exact or path.startswith(folders)


def _holds(folder: str, root: str) -> bool:
    return root.startswith(folder.rstrip(os.sep) + os.sep)


def _is_as_before(store: Store, path: str, before: Entry | None, algorithm: str) -> bool:
    """Whether a file is as the commit has it; git may have turned its line ends."""
    if before is None:
        return False
    if before.mode not in REGULAR:
        return os.path.islink(store.files.absolute(path))  # a link then and now: nobody follows it
    raw = bytes_of(store, path)
    if raw is None:
        return False
    from engram.adapters.git.read.tree import blob_oid

    return before.oid in (blob_oid(raw, algorithm), blob_oid(raw.replace(b"\r\n", b"\n"), algorithm))


def bytes_of(store: Store, path: str) -> bytes | None:
    """The bytes of a regular file; None for any other thing, one that is too large for text, and one that cannot be read."""
    stamp = walk.stamp(store.files.absolute(path))
    if stamp is None or stamp.size > LARGEST:
        return None
    try:
        return store.files.read(path)
    except EngramError:
        return None


def _ids_of(store: Store, repository: Repository, oids: Sequence[str]) -> frozenset[str]:
    from engram.adapters.git.read.differences import blobs
    from engram.usecases.store.lineage import read_lore

    files = [read_lore(store, "gone.md", raw) for raw in blobs(repository, oids).values()] if oids else []
    return frozenset(file.lore.id for file in files if file is not None)
