"""Merge two versions of the file of an entity or an agent, as bytes: a pure function, by the rules of lore files.

The frame (comments, metadata, order) is merged as that of an entry; the codec writes the merged values into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.adapters.files.frontmatter.named_file import FileContents
from engram.adapters.files.merge import merge_frame
from engram.adapters.files.merge.conflict_markers import holds_markers, sides_of
from engram.adapters.files.merge.merge_file import Merged, keep_version
from engram.adapters.files.merge.merge_readable import digest
from engram.domain.entry.disputes import DELETED, FILE
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.merge import named_merge as rules
from engram.domain.merge.merge import NEVER, UNKNOWN, Edit, Version, in_order, loss, merge_conflicts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from engram.adapters.files.frontmatter.named_file import Kind
    from engram.adapters.files.merge.merge_frame import Frame, Outline
    from engram.domain.entry.lore import Conflict


class _Job(NamedTuple):
    """The parameters of one merge."""

    path: str
    kind: Kind
    now: datetime


class _Side(NamedTuple):
    """A version of a file: its record, and its text in parts."""

    version: Version
    outline: Outline
    raw: bytes


def merge_named(
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    path: str,
    now: datetime,
    kind: Kind,
    edits: tuple[Edit, Edit] = (UNKNOWN, UNKNOWN),
) -> Merged:
    """Merge two versions of the file at `path`, which is of this kind; the rest as of `merge_file.merge_files`."""
    if theirs in (ours, base):
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    job = _Job(path, kind, now)
    resolved = [None if raw is None else _without_markers(raw, job) for raw in (base, ours, theirs)]
    if resolved != [base, ours, theirs]:
        return merge_named(resolved[0], resolved[1], resolved[2], path, now, kind, edits)
    before = None if base is None else _read(base, job)
    if ours is None or theirs is None:
        kept, both = (theirs, edits[::-1]) if ours is None else (ours, edits)
        return _against_deletion(before, kept or b"", job, both)
    one, other = _read(ours, job, edits[0]), _read(theirs, job, edits[1])
    if one and other:
        return _both_readable(before, one, other, job)
    if one:
        return _one_unreadable(one, theirs, job, edits[1])
    if other:
        return _one_unreadable(other, ours, job, edits[0])
    return Merged(max(ours, theirs), (FILE,), (), (keep_version(path, min(ours, theirs)),))


def _read(raw: bytes, job: _Job, edit: Edit = UNKNOWN) -> _Side | None:
    try:
        file = job.kind.read(raw, job.path)
        outline = merge_frame.outline(raw.decode(), job.kind.ranks)
    except (LoreFileError, Problem):
        return None
    stamp = file.updated_at or NEVER
    return _Side(Version(file.record, stamp, file.conflicts, digest(raw), edit), outline, raw)


def _without_markers(raw: bytes, job: _Job) -> bytes:
    """Merge the sides of the conflict markers in a version; return it as it is where that is impossible."""
    sides = sides_of(raw) if holds_markers(raw) else None
    if sides is None:
        return raw
    resolved = merge_named(sides.base, sides.ours, sides.theirs, job.path, job.now, job.kind)
    unfit = resolved.content is None or resolved.kept or holds_markers(resolved.content)
    return raw if unfit or resolved.content is None else resolved.content


def _both_readable(base: _Side | None, ours: _Side, theirs: _Side, job: _Job) -> Merged:
    first, _ = in_order(ours.version, theirs.version, job.now)
    winner, loser = (ours, theirs) if first is ours.version else (theirs, ours)
    for frame in _frames(base, winner, loser):
        one, other = winner.version, loser.version
        foreign = [loss(name, value, other.written, one.edit) for name, value in frame.lost]
        merged = rules.merge(base.version if base else None, one, other, job.now, foreign)
        content = _write(frame, merged.version, job)
        if content is not None:
            fields = [name for name in merged.fields if name != "metadata"]
            return Merged(content, (*fields, *frame.differing), merged.losses, contested=merged.contested)
    return Merged(winner.raw, (FILE,), (), (keep_version(job.path, loser.raw),))


def _frames(base: _Side | None, winner: _Side, loser: _Side) -> Iterator[Frame]:
    """Yield the frames that the merged record may be written into; the second is for keys that cannot be combined."""
    before = base.outline if base else None
    newlines = [side.outline.document.newline if side else "" for side in (base, winner, loser)]
    if len({*newlines} - {""}) == 1:
        yield merge_frame.combine(before, winner.outline, loser.outline)
    else:
        ending = newlines[2] if newlines[1] == newlines[0] else newlines[1]
        plain = [_with_line_feeds(side) for side in (winner, loser)]
        frame = merge_frame.combine(_with_line_feeds(base) if base else None, *plain)
        yield frame._replace(text=frame.text.replace("\n", ending))
    yield merge_frame.keep_winner(before, winner.outline, loser.outline, winner.raw.decode())


def _with_line_feeds(side: _Side) -> Outline:
    return merge_frame.outline(side.raw.decode().replace("\r\n", "\n"), side.outline.ranks)


def _write(frame: Frame, wanted: Version, job: _Job) -> bytes | None:
    """Return the frame with the values of this record; None where that does not parse to exactly this record."""
    stamp = None if wanted.updated_at == NEVER else wanted.updated_at
    try:
        values = FileContents(wanted.record, stamp, wanted.conflicts)
        content = job.kind.rewrite(frame.text.encode(), job.path, values)
    except (LoreFileError, ValidationError, Problem):
        return None
    done = _read(content, job)
    if done is None or done.outline.foreign != frame.foreign:
        return None
    return content if _values(done.version) == _values(wanted) else None


def _values(version: Version) -> tuple[object, ...]:
    return (rules.values(version.record), version.updated_at, version.conflicts)


def _one_unreadable(readable: _Side, raw: bytes, job: _Job, edit: Edit) -> Merged:
    try:
        entry = loss(FILE, raw.decode(), edit, readable.version.edit)
    except UnicodeDecodeError:
        content = None
    else:
        content = _with_conflict(readable, entry, job)
    if content is None:
        return Merged(readable.raw, (FILE,), (), (keep_version(job.path, raw),))
    return Merged(content, (FILE,), _unless_there(readable, entry), contested=True)


def _against_deletion(base: _Side | None, raw: bytes, job: _Job, edits: tuple[Edit, Edit]) -> Merged:
    """Merge a deletion with a change; `edits` has the side that changed first."""
    entry = loss(DELETED, "", edits[1], edits[0])
    edited = _read(raw, job, edits[0])
    if edited is None:
        return Merged(raw, (DELETED,), (entry,))
    if base and _only_a_date(base, edited):
        return Merged(None, (DELETED,))
    content = _with_conflict(edited, entry, job)
    left = _unless_there(edited, entry)
    return Merged(raw if content is None else content, (DELETED,), left, contested=True)


def _only_a_date(base: _Side, edited: _Side) -> bool:
    same = base.outline.foreign == edited.outline.foreign and base.outline.comments == edited.outline.comments
    return same and (base.version.record, base.version.conflicts) == (
        edited.version.record,
        edited.version.conflicts,
    )


def _with_conflict(side: _Side, entry: Conflict, job: _Job) -> bytes | None:
    """Return the file with one more entry in `conflicts`; None where it does not fit in."""
    conflicts = side.version.conflicts
    frame = merge_frame.Frame(side.raw.decode(), side.outline.foreign, (), ())
    return _write(
        frame, side.version._replace(conflicts=merge_conflicts(conflicts, conflicts, conflicts, [entry])), job
    )


def _unless_there(side: _Side, entry: Conflict) -> tuple[Conflict, ...]:
    there = {(found.field, found.value) for found in side.version.conflicts}
    return () if (entry.field, entry.value) in there else (entry,)
