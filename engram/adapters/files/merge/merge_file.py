"""Merge two versions of a lore file, as bytes: a pure function of its arguments.

Nothing that both sides left alone is reformatted, and no text of either side is lost: it is in the file, among its
`conflicts`, or in a file next to it. docs/merge-rules.md has the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.files.merge.conflict_markers import holds_markers, sides_of
from engram.adapters.files.merge.merge_canonical import merge_canonical
from engram.adapters.files.merge.merge_readable import (
    Job,
    Result,
    Side,
    merge_pair,
    pair_up,
    read_side,
    with_conflict,
)
from engram.domain.entry.disputes import DELETED, FILE
from engram.domain.merge.entry_merge import only_passing
from engram.domain.merge.merge import NEVER, UNKNOWN, Edit, loss
from engram.domain.similarity import deduplicate

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from engram.adapters.files.frontmatter.codec import ParsedFiles
    from engram.domain.entry.categories import Categories
    from engram.domain.entry.lore import Conflict, Lore


class Kept(NamedTuple):
    """A version that does not fit into `conflicts`: write it at `path`, next to the merged file."""

    path: str
    content: bytes


class Merged(NamedTuple):
    """The result of merging two versions of a file.

    `content` is None where the file is deleted. `fields` names what the sides differed in (`deleted` and `file`
    where it is the whole file). `conflicts` are new; they are in `content`, unless that cannot be read. `contested`
    says that the result depends on who wrote the versions, and when.
    """

    content: bytes | None
    fields: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    kept: tuple[Kept, ...] = ()
    contested: bool = False

    @property
    def clean(self) -> bool:
        """Whether nothing is left for a person."""
        return not self.conflicts and not self.kept


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
    """Merge two versions of the lore file at `path`; None is a file that is not there. Raises nothing.

    `now` (see `engram.domain.merge.merge.reference_time`) and `edits`, who wrote ours and theirs and when, have to
    be the same on every machine that merges the same two versions.
    """
    if theirs in (ours, base):
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    job = Job(path, categories, now, parsed)
    resolved = [None if raw is None else _without_markers(raw, job) for raw in (base, ours, theirs)]
    if resolved != [base, ours, theirs]:
        return merge_files(resolved[0], resolved[1], resolved[2], path, categories, now, edits, parsed)
    return _merge_versions(base, ours, theirs, edits, job)


def may_follow(base: bytes, changed: bytes, path: str, categories: Categories) -> bool:
    """Return whether all that changed in a lore file allows that the entry is folded (engram.domain.similarity.deduplicate)."""
    job = Job(path, categories, NEVER)
    before, after = read_side(base, job), read_side(changed, job)
    return before is not None and after is not None and _is_all(before, after, deduplicate.may_follow)


def _merge_versions(
    base: bytes | None, ours: bytes | None, theirs: bytes | None, edits: tuple[Edit, Edit], job: Job
) -> Merged:
    """Merge two versions that differ and have no markers."""
    if base is not None and ours is not None and theirs is not None:
        short = merge_canonical(base, ours, theirs, edits, job)
        if short is not None:
            return _merged_result(short)
    before = None if base is None else read_side(base, job)
    if ours is None:
        assert theirs is not None
        return _against_deletion(before, theirs, edits, job)
    if theirs is None:
        return _against_deletion(before, ours, edits[::-1], job)
    one, other = read_side(ours, job, edits[0]), read_side(theirs, job, edits[1])
    if one and other:
        return _merge_sides(before, one, other, job)
    if one:
        return _one_unreadable(one, theirs, edits[1], job)
    if other:
        return _one_unreadable(other, ours, edits[0], job)
    return Merged(max(ours, theirs), (FILE,), (), (keep_version(job.path, min(ours, theirs)),))


def _without_markers(raw: bytes, job: Job) -> bytes:
    """Merge the sides of the conflict markers in a version; return it as it is where they are not of one entry."""
    sides = sides_of(raw) if holds_markers(raw) else None
    if sides is None:
        return raw
    merged = merge_files(sides.base, sides.ours, sides.theirs, job.path, job.categories, job.now)
    if merged.content is None or merged.kept or holds_markers(merged.content):
        return raw
    return merged.content


def _merge_sides(base: Side | None, one: Side, other: Side, job: Job) -> Merged:
    pair = pair_up(base, one, other, job.now)
    if pair is None:
        return _two_entries(base, one, other, job)
    result = merge_pair(pair, job)
    if result is None:
        return Merged(pair.winner.file.raw, (FILE,), (), (keep_version(job.path, pair.loser.file.raw),))
    return _merged_result(result)


def _merged_result(result: Result) -> Merged:
    return Merged(result.content, result.fields, result.conflicts, contested=result.contested)


def _two_entries(base: Side | None, one: Side, other: Side, job: Job) -> Merged:
    """Keep two entries at one path: that of the base stays, or the older one; the other moves to a path next to it."""
    first, second = sorted((one, other), key=lambda side: side.file.lore.id)
    if base and second.file.lore.id == base.file.lore.id:
        first, second = second, first
    return Merged(first.file.raw, ("id",), (), (keep_version(job.path, second.file.raw),))


def _one_unreadable(readable: Side, raw: bytes, edit: Edit, job: Job) -> Merged:
    try:
        entry = loss(FILE, raw.decode(), edit, readable.edit)
    except UnicodeDecodeError:
        content = None
    else:
        content = with_conflict(readable, entry, job)
    if content is None:
        return Merged(readable.file.raw, (FILE,), (), (keep_version(job.path, raw),))
    return Merged(content, (FILE,), _unless_there(readable, entry), contested=True)


def _against_deletion(base: Side | None, raw: bytes, edits: tuple[Edit, Edit], job: Job) -> Merged:
    """Merge a deletion with a change; `edits` has the side that deleted first."""
    entry = loss(DELETED, "", *edits)
    edited = read_side(raw, job, edits[1])
    if edited is None:
        return Merged(raw, (DELETED,), (entry,))
    if base and _is_all(base, edited, only_passing):
        return Merged(None, (DELETED,))
    content = with_conflict(edited, entry, job)
    left = _unless_there(edited, entry)
    return Merged(raw if content is None else content, (DELETED,), left, contested=True)


def _is_all(base: Side, edited: Side, is_allowed: Callable[[Lore, Lore], bool]) -> bool:
    """Return whether nothing changed but the fields of the entry, in a way that `is_allowed`."""
    before, after = base.file.lore, edited.file.lore
    if not base.file.adopted:
        before = before._replace(id=after.id)
    same_rest = base.outline.foreign == edited.outline.foreign
    return same_rest and base.outline.comments == edited.outline.comments and is_allowed(before, after)


def _unless_there(side: Side, entry: Conflict) -> tuple[Conflict, ...]:
    there = {(found.field, found.value) for found in side.file.lore.conflicts}
    return () if (entry.field, entry.value) in there else (entry,)


def keep_version(path: str, raw: bytes) -> Kept:
    """Name a version `name~1a2b3c4d.md`: by content, so the same on every machine, and sorted after `name.md`."""
    from hashlib import sha256

    stem, dot, ending = path.rpartition(".")
    return Kept(f"{stem or path}~{sha256(raw).hexdigest()[:8]}{dot}{ending if stem else ''}", raw)
