"""A lore that one side moved and the other changed is one lore still: its two versions are merged where it is now.

Without this the merge would see a deletion and a new file, and the lore would be there twice.
"""

from __future__ import annotations

import re

from engram.adapters.git.read.differences import Difference
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engram.adapters.git.read.tree import Entry

    Side = dict[str, Difference]
    Reader = Callable[[Iterable[str]], dict[str, bytes]]


class _Paths(NamedTuple):
    """Lore by their ids: where a side took them away, and where it added them."""

    left: dict[bytes, str]
    new: dict[bytes, str]


_ID = re.compile(rb"^---\r?\n(?:[^\n]*\n){0,60}?id: ?\"?([0-7][0-9A-HJKMNP-TV-Z]{25})\"?\s*$", re.MULTILINE)


def follow_moves(read: Reader, folder: str, first: Side, second: Side) -> dict[str, Entry | None]:
    """Rewrite both sides so that a lore moved by one, or by both, stands at one path in both.

    So does one that both added, at different paths: where one of them had it from the other without its commits.
    Of two new paths the first in alphabetical order is taken. Returns what the merged tree holds at each of
    these paths, unless the versions at the new one have to be merged.
    """
    sides = first, second
    found = _lore_by_id(read, folder, sides)
    settled: dict[str, Entry | None] = {}
    for lore_id in sorted(found[0].new.keys() | found[1].new.keys()):
        old = _left(lore_id, found)
        places = [_place(lore_id, old, paths) for paths in found]
        versions = [
            side[place].after if place in side else None for side, place in zip(sides, places, strict=True)
        ]
        if None in versions or {old, *places} == {places[0]}:
            continue  # the other side left it alone, or deleted it; or it stands at one path already
        target = min(place for place in places if place != old)
        gone = {path for path in (old, *places) if path not in ("", target)}
        before = (first.get(old) or second[old]).before if old else None
        for side, version in zip(sides, versions, strict=True):
            for path in gone:
                side[path] = Difference(before if path == old else None, None)
            side[target] = Difference(before, version)
        settled |= dict.fromkeys(gone) | {target: versions[0]}
    return settled


def _left(lore_id: bytes, found: tuple[_Paths, _Paths]) -> str:
    """The path from which a side moved the lore; "" where none did."""
    return min(
        (paths.left[lore_id] for paths in found if lore_id in paths.left and lore_id in paths.new), default=""
    )


def _place(lore_id: bytes, old: str, paths: _Paths) -> str:
    """Where a side has the lore now, as far as it may have changed it."""
    is_there = lore_id in paths.new and (not old or lore_id in paths.left)
    return paths.new[lore_id] if is_there else old


def _lore_by_id(read: Reader, folder: str, sides: tuple[Side, Side]) -> tuple[_Paths, _Paths]:
    """The lore that each side took away and added; nothing where no lore can have been moved."""
    left = [
        _lore(folder, {path: found.before for path, found in side.items() if not found.after})
        for side in sides
    ]
    new = [
        _lore(folder, {path: found.after for path, found in side.items() if not found.before})
        for side in sides
    ]
    if not (all(new) or (left[0] and new[0]) or (left[1] and new[1])):
        return _Paths({}, {}), _Paths({}, {})
    contents = read(oid for files in (*left, *new) for oid in files.values())
    named = [
        {_id(contents[oid]): path for path, oid in sorted(files.items(), reverse=True)}
        for files in (*left, *new)
    ]
    return _Paths(named[0], named[2]), _Paths(named[1], named[3])


def _lore(folder: str, files: dict[str, Entry | None]) -> dict[str, str]:
    """The object ids of those that are regular lore files."""
    return {
        path: entry.oid
        for path, entry in files.items()
        if entry and entry.mode in sync_plan.REGULAR and sync_plan.is_lore(path, folder)
    }


def _id(raw: bytes) -> bytes:
    found = _ID.match(raw[:16_384])
    # A file without an id is never the same as another one.
    return found[1] if found else raw + b"?"
