"""Merge two versions of an entry's file, as bytes: a pure function of its arguments.

What neither side changed is not reformatted, and no text of either side is lost: it is in the file, among its
`conflicts`, or in a file next to it. The rules are in docs/merge-rules.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from engram.adapters.files.merge.conflict_markers import holds_markers, split_sides
from engram.adapters.files.merge.merge_canonical import merge_canonical
from engram.adapters.files.merge.merge_readable import (
    Job,
    Kept,
    Merged,
    Side,
    merge_pair,
    pair_up,
    read_side,
    with_conflict,
)
from engram.domain.entry.disputes import DELETED, FILE
from engram.domain.merge.entry_merge import is_minor_change
from engram.domain.merge.merge import NEVER, UNKNOWN, Edit, loss
from engram.domain.similarity import deduplicate

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from engram.adapters.files.frontmatter.codec import ParsedFiles
    from engram.domain.entry.categories import Categories
    from engram.domain.entry.lore import Conflict, Lore


def merge_files(
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    path: str,
    categories: Categories,
    now: datetime,
    edits: tuple[Edit, Edit] = (UNKNOWN, UNKNOWN),
    parsed: ParsedFiles | None = None,
) -> Merged:
    """Merge two versions of the lore file at `path`; None means that there is no file. Raises nothing.

    `now` (see `engram.domain.merge.merge.reference_time`) and `edits` (who wrote ours and theirs, and when) must be
    the same on every machine that merges the same two versions.
    """
    return merge_versions(base, ours, theirs, edits, _Entries(Job(path, categories, now, parsed)))


def may_follow(base: bytes, changed: bytes, path: str, categories: Categories) -> bool:
    """Return whether the entry may still be folded into another after this change (see engram.domain.similarity.deduplicate)."""
    job = Job(path, categories, NEVER)
    before, after = read_side(base, job), read_side(changed, job)
    return (
        before is not None and after is not None and _is_allowed_edit(before, after, deduplicate.may_follow)
    )


class Files(Protocol):
    """How to merge files of one kind; `path` is that of the file being merged."""

    path: str

    def shortcut(self, base: bytes, ours: bytes, theirs: bytes, edits: tuple[Edit, Edit]) -> Merged | None:
        """Merge three files in canonical form; None if the other methods are needed."""

    def read(self, raw: bytes, edit: Edit = UNKNOWN) -> Side | None:
        """Read a version; None if it cannot be read."""

    def merge(self, base: Side | None, one: Side, other: Side) -> Merged:
        """Merge two readable versions."""

    def with_conflict(self, side: Side, entry: Conflict) -> bytes | None:
        """Return the file with another conflict in `conflicts`; None if it does not fit."""

    def is_passing(self, before: Side, after: Side) -> bool:
        """Return whether this change is so minor that a deletion on another clone wins."""


def merge_versions(
    base: bytes | None, ours: bytes | None, theirs: bytes | None, edits: tuple[Edit, Edit], files: Files
) -> Merged:
    """Merge two versions of a file of any kind, as `merge_files` does of an entry. Raises nothing."""
    if theirs in (ours, base):
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    resolved = [None if raw is None else _without_markers(raw, files) for raw in (base, ours, theirs)]
    if resolved != [base, ours, theirs]:
        return merge_versions(resolved[0], resolved[1], resolved[2], edits, files)
    if base is not None and ours is not None and theirs is not None:
        merged = files.shortcut(base, ours, theirs, edits)
        if merged is not None:
            return merged
    before = None if base is None else files.read(base)
    if ours is None or theirs is None:
        changed, ordered = (theirs, edits) if ours is None else (ours, edits[::-1])
        return _merge_deletion(before, changed or b"", ordered, files)
    one, other = files.read(ours, edits[0]), files.read(theirs, edits[1])
    if one and other:
        return files.merge(before, one, other)
    if one:
        return _merge_unreadable(one, theirs, edits[1], files)
    if other:
        return _merge_unreadable(other, ours, edits[0], files)
    return Merged(max(ours, theirs), (FILE,), (), (keep_version(files.path, min(ours, theirs)),))


def _without_markers(raw: bytes, files: Files) -> bytes:
    """Merge the sides of the conflict markers in a version; return it unchanged if they cannot be merged."""
    sides = split_sides(raw) if holds_markers(raw) else None
    if sides is None:
        return raw
    merged = merge_versions(sides.base, sides.ours, sides.theirs, (UNKNOWN, UNKNOWN), files)
    if merged.content is None or merged.kept or holds_markers(merged.content):
        return raw
    return merged.content


def _merge_unreadable(readable: Side, raw: bytes, edit: Edit, files: Files) -> Merged:
    try:
        entry = loss(FILE, raw.decode(), edit, readable.version.edit)
    except UnicodeDecodeError:
        content = None
    else:
        content = files.with_conflict(readable, entry)
    if content is None:
        return Merged(readable.raw, (FILE,), (), (keep_version(files.path, raw),))
    return Merged(content, (FILE,), _unless_recorded(readable, entry), contested=True)


def _merge_deletion(base: Side | None, raw: bytes, edits: tuple[Edit, Edit], files: Files) -> Merged:
    """Merge a deletion with a change; `edits` has the side that deleted first."""
    entry = loss(DELETED, "", *edits)
    edited = files.read(raw, edits[1])
    if edited is None:
        return Merged(raw, (DELETED,), (entry,))
    if base and files.is_passing(base, edited):
        return Merged(None, (DELETED,))
    content = files.with_conflict(edited, entry)
    losses = _unless_recorded(edited, entry)
    return Merged(raw if content is None else content, (DELETED,), losses, contested=True)


def _unless_recorded(side: Side, entry: Conflict) -> tuple[Conflict, ...]:
    recorded = {(found.field, found.value) for found in side.version.conflicts}
    return () if (entry.field, entry.value) in recorded else (entry,)


class _Entries:
    """The files of entries."""

    def __init__(self, job: Job) -> None:
        self.path, self._job = job.path, job

    def shortcut(self, base: bytes, ours: bytes, theirs: bytes, edits: tuple[Edit, Edit]) -> Merged | None:
        return merge_canonical(base, ours, theirs, edits, self._job)

    def read(self, raw: bytes, edit: Edit = UNKNOWN) -> Side | None:
        return read_side(raw, self._job, edit)

    def merge(self, base: Side | None, one: Side, other: Side) -> Merged:
        pair = pair_up(base, one, other, self._job.now)
        if pair is None:
            return self._separate(base, one, other)
        return merge_pair(pair, self._job) or Merged(
            pair.winner.raw, (FILE,), (), (keep_version(self.path, pair.loser.raw),)
        )

    def _separate(self, base: Side | None, one: Side, other: Side) -> Merged:
        """Keep both of two entries at one path: that of the base stays, or the older one; the other moves next to it."""
        first, second = sorted((one, other), key=lambda side: side.version.record.id)
        if base and second.version.record.id == base.version.record.id:
            first, second = second, first
        return Merged(first.raw, ("id",), (), (keep_version(self.path, second.raw),))

    def with_conflict(self, side: Side, entry: Conflict) -> bytes | None:
        return with_conflict(side, entry, self._job)

    def is_passing(self, before: Side, after: Side) -> bool:
        return _is_allowed_edit(before, after, is_minor_change)


def _is_allowed_edit(base: Side, edited: Side, is_allowed: Callable[[Lore, Lore], bool]) -> bool:
    """Return whether only fields of the entry changed, in a way that `is_allowed` accepts."""
    before, after = base.version.record, edited.version.record
    if not base.adopted:
        before = before._replace(id=after.id)
    return base.outline.surrounds_the_same(edited.outline) and is_allowed(before, after)


def keep_version(path: str, raw: bytes) -> Kept:
    """Name a version `name~1a2b3c4d.md`, by its content: the name is the same on every machine and sorts after `name.md`."""
    from hashlib import sha256

    stem, dot, ending = path.rpartition(".")
    return Kept(f"{stem or path}~{sha256(raw).hexdigest()[:8]}{dot}{ending if stem else ''}", raw)
