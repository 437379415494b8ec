"""What files of entities and of agents have in common: no lore, known by their names, merged by their fields."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any

    from engram.domain.entry.lore import Conflict


class Said(NamedTuple):
    """What a file says: an entity or a profile, when it last changed, versions that lost."""

    record: Any
    updated_at: datetime | None
    conflicts: tuple[Conflict, ...]


class Kind(NamedTuple):
    """A kind of such files: how one is read, and edited to say something else, and the places of its keys.

    `read(raw, path)` raises LoreFileError; `rewrite(raw, path, wanted)` that, and ValidationError. What a kind keeps of
    keys that it does not know is the file's own, whatever `wanted` says of them.
    """

    read: Callable[[bytes, str], Said]
    rewrite: Callable[[bytes, str, Said], bytes]
    ranks: Mapping[str, int]
