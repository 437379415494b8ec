"""Repair lore files that a tool without the merge driver left with git's conflict markers.

The versions come from git if it still has them: from its index while a merge is in progress, else from the parents of
the merge commit that introduced the markers. The result is then that of a merge by field. If git has no such merge, the
versions are read from between the markers.
"""

from __future__ import annotations

import contextlib
import os
import stat

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change, Operation
from engram.adapters.files.frontmatter import frontmatter
from engram.adapters.files.merge.conflict_markers import holds_markers, split_sides
from engram.domain.entry.named_files import is_named
from engram.domain.errors import ConflictError, EngramError, GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.merge.file_merge import merge_one
from engram.usecases.merge.merge_driver import time_of_merge
from engram.usecases.store.version_paths import in_git, in_store, repository_of

if TYPE_CHECKING:
    from datetime import datetime

    from engram.adapters.files.merge.merge_readable import Merged
    from engram.usecases.store.store import Store

INDEX, PARENTS, MARKERS = "the merge under way", "the parents of the merge", "the markers"


class Repaired(NamedTuple):
    """A file that has conflict markers, or that git could not merge.

    `source` says where the versions were read, "" if it could not be merged. `open_merge` says whether a person has to
    finish the merge; `conflicts` are the fields with both versions in the file.
    """

    path: str
    source: str
    conflicts: tuple[str, ...] = ()
    open_merge: bool = False
    trouble: str = ""


class _Versions(NamedTuple):
    source: str
    base: bytes | None
    ours: bytes | None
    theirs: bytes | None
    now: datetime
    heads: tuple[str, str] | None = None


def marked_files(store: Store, paths: list[str]) -> list[str]:
    """Return the files (store paths) with conflict markers, and those that git could not merge."""
    found = [path for path in paths if _has_markers(store, path)]
    if store.places.repository is not None:
        with contextlib.suppress(GitError):  # a damaged index is reported by whatever needs it
            found += [path for path in _unmerged_paths(store) if path not in found]
    return found


def repair(store: Store, path: str) -> Repaired:
    """Merge the versions of one file and write the result. Never raises; `trouble` says why it failed."""
    try:
        with store.lock:
            return _repair(store, path)
    except EngramError as error:
        return Repaired(path, "", trouble=f"{error.message} {error.hint}".strip())


def _repair(store: Store, path: str) -> Repaired:
    raw = _read(store, path)
    versions = _versions(store, path, raw)
    if versions is None:
        return Repaired(path, "", trouble="The markers do not fit together; keep the right lines by hand.")
    folder, now = store.places.folder, versions.now
    three = versions.base, versions.ours, versions.theirs
    merged = merge_one(*three, path, folder, store.categories, now)
    if merged.contested and versions.heads is not None:
        from engram.usecases.merge.last_edits import edits_of_merge

        place = in_git(store, folder)
        edits = edits_of_merge(
            repository_of(store), versions.heads, in_git(store, path), place, store.categories
        )
        merged = merge_one(*three, path, folder, store.categories, now, edits=edits)
    if (
        merged.content is not None
        and frontmatter.conflict_marker(merged.content.decode("utf-8", "replace")) >= 0
    ):
        raise ConflictError(f"{path} has conflict markers in a version of its own.", "Remove them by hand.")
    _write(store, path, raw, merged)
    is_in_progress = versions.source == INDEX
    if is_in_progress and store.places.owns_branch:
        from engram.adapters.git.read.unmerged import resolve

        resolve(
            repository_of(store), [in_git(store, path), *(in_git(store, kept.path) for kept in merged.kept)]
        )
    return Repaired(path, versions.source, tuple(entry.field for entry in merged.conflicts), is_in_progress)


def _versions(store: Store, path: str, raw: bytes | None) -> _Versions | None:
    if store.places.repository is not None:
        found = _from_index(store, path) or _from_parents(store, path, raw)
        if found is not None:
            return found
    sides = split_sides(raw or b"")
    if sides is None:
        return None
    return _Versions(MARKERS, sides.base, sides.ours, sides.theirs, store.clock.now())


def _from_index(store: Store, path: str) -> _Versions | None:
    from engram.adapters.git.read.unmerged import list_unmerged
    from engram.adapters.git.read.versions import read_objects
    from engram.adapters.git.run.layout import read_head
    from engram.adapters.git.write.merge_driver import merge_head, merged_heads

    repository = repository_of(store)
    name = in_git(store, path)
    stages = list_unmerged(repository, name).get(name)
    if stages is None:
        return None
    base, ours, theirs = (read_objects(repository, [oid])[0] if oid else None for oid in stages)
    now = time_of_merge(repository, merged_heads(repository, {}), store.clock)
    head, other = read_head(repository).oid, merge_head(repository)
    return _Versions(INDEX, base, ours, theirs, now, (head, other) if head and other else None)


def _from_parents(store: Store, path: str, raw: bytes | None) -> _Versions | None:
    """Return the versions of the merge whose commit contains exactly these bytes, if no parent has markers."""
    from engram.adapters.git.read.unmerged import merges_of
    from engram.adapters.git.read.versions import read_objects

    repository = repository_of(store)
    name = in_git(store, path)
    for merge in merges_of(repository, name):
        merged, ours, theirs = read_objects(repository, [f"{oid}:{name}" for oid in merge])
        if merged != raw or any(side and holds_markers(side) for side in (ours, theirs)):
            continue
        now = time_of_merge(repository, [merge.ours, merge.theirs], store.clock)
        base = _base(store, name, path, merge.ours, merge.theirs)
        return _Versions(PARENTS, base, ours, theirs, now, (merge.ours, merge.theirs))
    return None


def _base(store: Store, name: str, path: str, one: str, other: str) -> bytes | None:
    """Return the common version of two commits; if they have several bases, the merge of these (docs/merge-rules.md)."""
    from engram.adapters.git.read.versions import read_objects
    from engram.adapters.git.write.merge_commit import bases as find_bases

    repository = repository_of(store)
    bases = find_bases(repository, one, other)
    if not bases:
        return None
    versions = read_objects(repository, [f"{oid}:{name}" for oid in bases])
    merged, last = versions[0], bases[0]
    for oid, version in zip(bases[1:], versions[1:], strict=True):
        now = time_of_merge(repository, [last, oid], store.clock)
        base = _base(store, name, path, last, oid)
        folder = store.places.folder
        merged, last = merge_one(base, merged, version, path, folder, store.categories, now).content, oid
    return merged


def _write(store: Store, path: str, raw: bytes | None, merged: Merged) -> None:
    from engram.usecases.store import entry_writer

    changes = []
    for file, before, content in [
        (path, raw, merged.content),
        *((kept.path, _read(store, kept.path), kept.content) for kept in merged.kept),
    ]:
        if content != before:
            changes.append(Change(file, content, None if before is None else atomic.digest(before)))
    if not changes:
        return
    lore_id = _id_of(store, path, merged.content or raw or b"")
    trailers = [("Engram-Lore", lore_id)] if lore_id else []
    trailers += [("Engram-Agent", store.caller.who), ("Engram-Source", store.source)]
    operation = Operation(
        store.clock.new_id(), int(store.clock.now().timestamp()), f"repair: {os.path.basename(path)}",
        tuple(trailers), tuple(changes),
    )  # fmt: skip
    entry_writer.write(store, [operation])


def _id_of(store: Store, path: str, raw: bytes) -> str:
    from engram.adapters.files.frontmatter import codec

    if is_named(path, store.places.folder):
        return ""
    try:
        return codec.read(raw, path, store.categories, store.clock.now()).lore.id
    except EngramError:
        return ""


def _unmerged_paths(store: Store) -> list[str]:
    """Return the store paths that git left unmerged and that were not edited since."""
    from engram.adapters.git.read.unmerged import list_unmerged
    from engram.adapters.git.read.versions import read_objects

    repository = repository_of(store)
    if not os.path.exists(os.path.join(repository.git_dir, "index")):
        return []
    found = []
    for name, stages in list_unmerged(repository, in_git(store, store.places.folder)).items():
        path = in_store(store, name)
        raw = _read(store, path)
        sides = read_objects(repository, [oid for oid in (stages.ours, stages.theirs) if oid])
        if raw is not None and (holds_markers(raw) or raw in sides):
            found.append(path)
    return found


def _has_markers(store: Store, path: str) -> bool:
    raw = _read(store, path)
    return raw is not None and holds_markers(raw)


def _read(store: Store, path: str) -> bytes | None:
    """Read a regular file that is not too large for an entry; None for others, such as a device that never ends."""
    try:
        status = os.lstat(store.files.absolute(path))
        if not stat.S_ISREG(status.st_mode) or status.st_size > 2 * frontmatter.MAX_FILE:
            return None
        return store.files.read(path)
    except (EngramError, OSError, ValueError):
        return None
