"""Merging two versions of a lore file, as bytes: a pure function of its arguments.

Nothing is reformatted that both sides left alone, and no text of either side is lost: it is in the file, among
its `conflicts`, or in a file beside it. docs/merge-rules.md has the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.files.merge.marked import holds_markers, sides_of
from engram.adapters.files.merge.merge_canonical import merge_canonical
from engram.adapters.files.merge.merge_readable import (
    Job,
    Side,
    merge_pair,
    pair_up,
    read_side,
    with_conflict,
)
from engram.domain.entry.lore import Conflict
from engram.domain.merge.merge import DELETED, FILE, NEVER, only_passing
from engram.domain.similarity import deduplicate

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from engram.adapters.files.frontmatter.codec import ParsedFiles
    from engram.domain.entry.categories import Categories
    from engram.domain.entry.lore import Lore


class Kept(NamedTuple):
    """A version that no entry of `conflicts` can hold: write it at `path`, beside the merged file."""

    path: str
    content: bytes


class Merged(NamedTuple):
    """What two versions of a file became.

    `content` is None where the file is deleted. `fields` names what the sides differed in (`deleted` and `file`
    where it is the whole file). `conflicts` are new; they are in `content`, unless that cannot be read.
    """

    content: bytes | None
    fields: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    kept: tuple[Kept, ...] = ()

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
    sources: tuple[str, str] = ("", ""),
    parsed: ParsedFiles | None = None,
) -> Merged:
    """Merge two versions of the lore file at `path`; None is a file that is not there. Raises nothing.

    `now` (see `engram.domain.merge.merge.reference_time`) and `sources`, the short names of the clones that wrote
    ours and theirs, have to be the same on every machine that merges the same two versions.
    """
    if theirs in (ours, base):
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    job = Job(path, categories, now, parsed)
    mended = [None if raw is None else _without_markers(raw, job) for raw in (base, ours, theirs)]
    if mended != [base, ours, theirs]:
        return merge_files(mended[0], mended[1], mended[2], path, categories, now, sources, parsed)
    return _merged(base, ours, theirs, sources, job)


def may_follow(base: bytes, changed: bytes, path: str, categories: Categories) -> bool:
    """Whether all that changed of a lore file agrees with the lore being folded away (engram.domain.similarity.deduplicate)."""
    job = Job(path, categories, NEVER)
    before, after = read_side(base, "", job), read_side(changed, "", job)
    return before is not None and after is not None and _is_all(before, after, deduplicate.may_follow)


def _merged(
    base: bytes | None, ours: bytes | None, theirs: bytes | None, sources: tuple[str, str], job: Job
) -> Merged:
    """Merge two versions that differ and have no markers."""
    if base is not None and ours is not None and theirs is not None:
        short = merge_canonical(base, ours, theirs, sources, job)
        if short is not None:
            return Merged(*short)
    before = None if base is None else read_side(base, "", job)
    if ours is None:
        assert theirs is not None
        return _against_deletion(before, theirs, sources, job)
    if theirs is None:
        return _against_deletion(before, ours, sources[::-1], job)
    one, other = read_side(ours, sources[0], job), read_side(theirs, sources[1], job)
    if one and other:
        return _both_readable(before, one, other, job)
    if one:
        return _one_unreadable(one, theirs, sources[1], job)
    if other:
        return _one_unreadable(other, ours, sources[0], job)
    return Merged(max(ours, theirs), (FILE,), (), (beside(job.path, min(ours, theirs)),))


def _without_markers(raw: bytes, job: Job) -> bytes:
    """A version in which git left conflict markers, merged from what they show; as it is where that is no one lore."""
    sides = sides_of(raw) if holds_markers(raw) else None
    if sides is None:
        return raw
    mended = merge_files(sides.base, sides.ours, sides.theirs, job.path, job.categories, job.now)
    if mended.content is None or mended.kept or holds_markers(mended.content):
        return raw
    return mended.content


def _both_readable(base: Side | None, one: Side, other: Side, job: Job) -> Merged:
    pair = pair_up(base, one, other, job.now)
    if pair is None:
        return _two_lore(base, one, other, job)
    result = merge_pair(pair, job)
    if result is None:
        return Merged(pair.winner.file.raw, (FILE,), (), (beside(job.path, pair.loser.file.raw),))
    return Merged(*result)


def _two_lore(base: Side | None, one: Side, other: Side, job: Job) -> Merged:
    """Two lore at one path: the one of the base stays, or the older one; the other moves beside it."""
    first, second = sorted((one, other), key=lambda side: side.file.lore.id)
    if base and second.file.lore.id == base.file.lore.id:
        first, second = second, first
    return Merged(first.file.raw, ("id",), (), (beside(job.path, second.file.raw),))


def _one_unreadable(readable: Side, raw: bytes, source: str, job: Job) -> Merged:
    try:
        entry = Conflict(FILE, raw.decode(), source, "")
    except UnicodeDecodeError:
        content = None
    else:
        content = with_conflict(readable, entry, job)
    if content is None:
        return Merged(readable.file.raw, (FILE,), (), (beside(job.path, raw),))
    return Merged(content, (FILE,), _unless_there(readable, entry))


def _against_deletion(base: Side | None, raw: bytes, sources: tuple[str, str], job: Job) -> Merged:
    """One side deleted what the other changed; `sources` has the one that deleted first."""
    entry = Conflict(DELETED, "", sources[0], "")
    edited = read_side(raw, sources[1], job)
    if edited is None:
        return Merged(raw, (DELETED,), (entry,))
    if base and _is_all(base, edited, only_passing):
        return Merged(None, (DELETED,))
    content = with_conflict(edited, entry, job)
    return Merged(raw if content is None else content, (DELETED,), _unless_there(edited, entry))


def _is_all(base: Side, edited: Side, told: Callable[[Lore, Lore], bool]) -> bool:
    """Whether nothing changed but what `told` says of the two lore."""
    before, after = base.file.lore, edited.file.lore
    if not base.file.adopted:
        before = before._replace(id=after.id)
    same_rest = base.outline.foreign == edited.outline.foreign
    return same_rest and base.outline.comments == edited.outline.comments and told(before, after)


def _unless_there(side: Side, entry: Conflict) -> tuple[Conflict, ...]:
    there = {(found.field, found.value) for found in side.file.lore.conflicts}
    return () if (entry.field, entry.value) in there else (entry,)


def beside(path: str, raw: bytes) -> Kept:
    """`name~1a2b3c4d.md`: by content, so the same on every machine, and after `name.md` in alphabetical order."""
    from hashlib import sha256

    stem, dot, ending = path.rpartition(".")
    return Kept(f"{stem or path}~{sha256(raw).hexdigest()[:8]}{dot}{ending if stem else ''}", raw)
