"""Types for files of entities and agents, which are identified by name and merged by field."""

from __future__ import annotations

from engram.domain.entry import times
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any

    from engram.domain.entry.lore import Conflict


class FileContents(NamedTuple):
    """The contents of a file: an entity or a profile, the time of its last change, and versions that lost a merge."""

    record: Any
    updated_at: datetime | None
    conflicts: tuple[Conflict, ...]

    def changed(self, record: Any, now: datetime) -> FileContents:
        """Return these contents with another record and the date `now`, or a later one if the file's is not older."""
        stamp = times.after(now, self.updated_at) if self.updated_at else times.whole_seconds(now)
        return self._replace(record=record, updated_at=stamp)


class Kind(NamedTuple):
    """A kind of files: how to read and rewrite one, and the order of its keys.

    `read(raw, path)` raises LoreFileError; `rewrite(raw, path, wanted)` also ValidationError. Unknown keys
    in the file are kept, whatever those of `wanted`.
    """

    read: Callable[[bytes, str], FileContents]
    rewrite: Callable[[bytes, str, FileContents], bytes]
    ranks: Mapping[str, int]
