"""Merge two readable versions of one entry into the bytes of its file.

The frame has everything around the values, the domain merges the values, and the codec writes them into the frame. The
result is used only if it parses to exactly the merged entry.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.files.frontmatter import codec, edit, keys
from engram.adapters.files.frontmatter.codec import LoreFile, ParsedFiles, defaults, file_values, normalize
from engram.adapters.files.frontmatter.fields import parse
from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.adapters.files.frontmatter.origin import NAME as ORIGIN
from engram.adapters.files.merge import merge_frame
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.merge import entry_merge
from engram.domain.merge.merge import NEVER, UNKNOWN, Edit, Version, in_order, loss, merge_conflicts

if TYPE_CHECKING:
    from engram.adapters.files.merge.merge_frame import Frame, Outline
    from engram.domain.entry.categories import Categories
    from engram.domain.entry.lore import Conflict, Lore

# The creation time of a file without one: any other time is earlier.
_NEVER_CREATED = datetime.max.replace(microsecond=0, tzinfo=UTC)
# Fields that a file without an id may lack: reading fills them in, and a merge does not write them.
_OPTIONAL = ("id", "category", "created_at", "updated_at", "confidence", "validation_count")


class Job(NamedTuple):
    """The parameters of a merge: the path of the file, the store's categories, the time of the merge.

    `parsed` is a cache of parsed entries.
    """

    path: str
    categories: Categories
    now: datetime
    parsed: ParsedFiles | None = None


class Side(NamedTuple):
    """A version of a file: its values, its text in parts, its bytes; `adopted` is False for an entry without an id."""

    version: Version
    outline: Outline
    raw: bytes
    adopted: bool = True


class Pair(NamedTuple):
    """Two versions of one entry, the winner first, and the base if there is one."""

    base: Side | None
    winner: Side
    loser: Side
    versions: tuple[Version, Version]
    adopted: bool


class Kept(NamedTuple):
    """A version that does not fit into `conflicts`: write it at `path`, next to the merged file."""

    path: str
    content: bytes


class Merged(NamedTuple):
    """The result of merging two versions of a file.

    `content` is None if the file is deleted. `fields` names the fields in which the sides differed (`deleted` or `file`
    for the whole file). `conflicts` are new; they are in `content`, unless that cannot be read. `contested` says
    that the result depends on who wrote the versions, and when.
    """

    content: bytes | None
    fields: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    kept: tuple[Kept, ...] = ()
    contested: bool = False

    @property
    def clean(self) -> bool:
        """Whether a person has nothing to resolve."""
        return not self.conflicts and not self.kept


def read_side(raw: bytes, job: Job, edit: Edit = UNKNOWN) -> Side | None:
    """Read a version; None if it is not an entry."""
    try:
        file = _read(raw, job)
        outline = merge_frame.outline(raw.decode())
    except (LoreFileError, Problem):
        return None
    return Side(entry_merge.version_of(file.lore, digest(raw), edit), outline, raw, file.adopted)


def _read(raw: bytes, job: Job) -> LoreFile:
    file = codec.read(raw, job.path, job.categories, _NEVER_CREATED)
    if file.lore.updated_at == _NEVER_CREATED:
        file = file._replace(lore=file.lore._replace(updated_at=NEVER))
    return file


def pair_up(base: Side | None, ours: Side, theirs: Side, now: datetime) -> Pair | None:
    """Return the two sides in order; None if they are different entries."""
    lore_id = _shared_id(base, ours, theirs)
    if lore_id is None:
        return None
    one, other = (
        side.version._replace(record=side.version.record._replace(id=lore_id)) for side in (ours, theirs)
    )
    versions = in_order(one, other, now)
    winner, loser = (ours, theirs) if versions[0] is one else (theirs, ours)
    if base and base.adopted and base.version.record.id != lore_id:
        base = None
    return Pair(base, winner, loser, versions, ours.adopted or theirs.adopted)


def merge_pair(pair: Pair, job: Job) -> Merged | None:
    """Return the merged file; None if no file can hold the values of both sides."""
    winner, loser = pair.versions
    base = pair.base.version.record if pair.base else None
    before = pair.base.outline if pair.base else None
    for frame, tight in merge_frame.frames(before, pair.winner.outline, pair.loser.outline):
        # If two people promoted the same entry, it does not matter whose record of its origin stays.
        lost = [loss(name, value, loser.written, winner.edit) for name, value in frame.lost if name != ORIGIN]
        merged = entry_merge.merge(base, winner, loser, job.categories, job.now, lost, tight)
        content = _write(frame, normalize(merged.version.record), pair.adopted, job)
        if content is not None:
            fields = (*_id_conflict(pair), *merged.fields, *frame.differing)
            return Merged(content, fields, merged.losses, contested=merged.contested)
    return None


def with_conflict(side: Side, entry: Conflict, job: Job) -> bytes | None:
    """Return the file with another conflict in `conflicts`; None if it does not fit."""
    lore: Lore = side.version.record
    entries = merge_conflicts(lore.conflicts, lore.conflicts, lore.conflicts, [entry])
    return _write(side.outline.frame, lore._replace(conflicts=entries), side.adopted, job)


def _id_conflict(pair: Pair) -> tuple[str, ...]:
    ids = {side.version.record.id for side in (pair.winner, pair.loser) if side.adopted}
    return ("id",) if len(ids) > 1 else ()


def _shared_id(base: Side | None, ours: Side, theirs: Side) -> str | None:
    every = [side.version.record.id for side in (ours, theirs)]
    ids = {side.version.record.id for side in (ours, theirs) if side.adopted} or {min(every)}
    # Two clones gave a person's file an id independently: the older id stays.
    adopted_twice = base is not None and not base.adopted
    return min(ids) if len(ids) == 1 or adopted_twice else None


def digest(raw: bytes) -> bytes:
    """Return the digest that decides the order of versions edited at the same time."""
    from hashlib import blake2b

    return blake2b(raw, digest_size=16).digest()


def _write(frame: Frame, lore: Lore, adopted: bool, job: Job) -> bytes | None:
    """Return the frame with the values of this entry; None unless it parses to exactly this entry."""
    try:
        write = codec.rewrite if adopted else _rewrite_without_id
        content = write(_read(frame.text.encode(), job), lore, job.categories)
    except (LoreFileError, ValidationError, Problem):
        return None
    written = read_side(content, job)
    if written is None or written.outline.foreign != frame.foreign or written.adopted != adopted:
        return None
    wanted = lore if adopted else lore._replace(id=written.version.record.id)
    return content if written.version.record == wanted else None


def _rewrite_without_id(file: LoreFile, lore: Lore, categories: Categories) -> bytes:
    """Return a person's file, which has no id yet, with the values of this entry. Raises Problem, ValidationError."""
    lore = lore._replace(id=file.lore.id)
    if lore == file.lore:
        return file.raw
    document, entries = keys.load(file.raw.decode())
    before, left_out = file_values(file.lore), defaults(lore, categories)
    implied = {**left_out, **{key: before[key] for key in _OPTIONAL}}
    values = edit.Values(parse(entries, categories), file_values(lore), implied, left_out)
    content = None if lore.content == file.lore.content else lore.content
    return codec.apply_edit(document, entries, values, edit.form(()), content)
