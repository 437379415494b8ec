"""Merge two versions of the file of an entity or an agent, as bytes: a pure function, by the rules of lore files.

The frame (comments, metadata, order) is merged like that of an entry; the codec writes the merged values into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.adapters.files.frontmatter.named_file import FileContents, Kind
from engram.adapters.files.merge import merge_frame
from engram.adapters.files.merge.merge_file import keep_version, merge_versions
from engram.adapters.files.merge.merge_readable import Merged, Side, digest
from engram.domain.entry.disputes import FILE
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.merge import named_merge as rules
from engram.domain.merge.merge import NEVER, UNKNOWN, Edit, Version, in_order, loss, merge_conflicts

if TYPE_CHECKING:
    from datetime import datetime

    from engram.adapters.files.merge.merge_frame import Frame
    from engram.domain.entry.lore import Conflict


def merge_named(
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    path: str,
    now: datetime,
    kind: Kind,
    edits: tuple[Edit, Edit] = (UNKNOWN, UNKNOWN),
) -> Merged:
    """Merge two versions of a file of this kind, like `merge_file.merge_files`."""
    return merge_versions(base, ours, theirs, edits, _NamedFiles(path, now, kind))


class _NamedFiles:
    """The files of entities, or of agents."""

    def __init__(self, path: str, now: datetime, kind: Kind) -> None:
        self.path, self._now, self._kind = path, now, kind

    def shortcut(self, *_: object) -> None:
        """Return None: there are few such files."""

    def read(self, raw: bytes, edit: Edit = UNKNOWN) -> Side | None:
        try:
            file = self._kind.read(raw, self.path)
            outline = merge_frame.outline(raw.decode(), self._kind.ranks)
        except (LoreFileError, Problem):
            return None
        stamp = file.updated_at or NEVER
        return Side(Version(file.record, stamp, file.conflicts, digest(raw), edit), outline, raw)

    def merge(self, base: Side | None, one: Side, other: Side) -> Merged:
        first, _ = in_order(one.version, other.version, self._now)
        winner, loser = (one, other) if first is one.version else (other, one)
        before = base.outline if base else None
        for frame, _ in merge_frame.frames(before, winner.outline, loser.outline):
            foreign = [
                loss(name, value, loser.version.written, winner.version.edit) for name, value in frame.lost
            ]
            merged = rules.merge(
                base.version if base else None, winner.version, loser.version, self._now, foreign
            )
            content = self._write(frame, merged.version)
            if content is not None:
                fields = [name for name in merged.fields if name != "metadata"]
                return Merged(content, (*fields, *frame.differing), merged.losses, contested=merged.contested)
        return Merged(winner.raw, (FILE,), (), (keep_version(self.path, loser.raw),))

    def _write(self, frame: Frame, wanted: Version) -> bytes | None:
        """Return the frame with the values of `wanted`; None unless it parses to exactly these."""
        stamp = None if wanted.updated_at == NEVER else wanted.updated_at
        try:
            values = FileContents(wanted.record, stamp, wanted.conflicts)
            content = self._kind.rewrite(frame.text.encode(), self.path, values)
        except (LoreFileError, ValidationError, Problem):
            return None
        written = self.read(content)
        if written is None or written.outline.foreign != frame.foreign:
            return None
        return content if _values(written.version) == _values(wanted) else None

    def with_conflict(self, side: Side, entry: Conflict) -> bytes | None:
        old = side.version.conflicts
        conflicts = merge_conflicts(old, old, old, [entry])
        return self._write(side.outline.frame, side.version._replace(conflicts=conflicts))

    def is_passing(self, before: Side, after: Side) -> bool:
        """Return whether only the date of the file changed."""
        one, other = before.version, after.version
        same = (one.record, one.conflicts) == (other.record, other.conflicts)
        return same and before.outline.surrounds_the_same(after.outline)


def _values(version: Version) -> tuple[object, ...]:
    return (rules.values(version.record), version.updated_at, version.conflicts)
