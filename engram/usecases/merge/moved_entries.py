"""Merge an entry that one side moved and the other changed at its new path.

Otherwise the merge would see a deletion and a new file, and the entry would exist twice.
"""

from __future__ import annotations

import re

from engram.adapters.git.read.differences import Difference
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engram.adapters.git.read.objects import Entry

    Side = dict[str, Difference]
    Reader = Callable[[Iterable[str]], dict[str, bytes]]


class _Paths(NamedTuple):
    """The paths of entries by id: those that a side removed, and those that it added."""

    removed: dict[bytes, str]
    added: dict[bytes, str]


_ID = re.compile(rb"^---\r?\n(?:[^\n]*\n){0,60}?id: ?\"?([0-7][0-9A-HJKMNP-TV-Z]{25})\"?\s*$", re.MULTILINE)


def follow_moves(read: Reader, folder: str, first: Side, second: Side) -> dict[str, Entry | None]:
    """Rewrite both sides so that an entry moved by one or both of them has the same path in both.

    The same goes for an entry that both added at different paths, because one copied it from the other without its
    commits. Of two new paths the first in alphabetical order is used. Return the files of the merged tree at these
    paths; versions at the new one may still have to be merged.
    """
    sides = first, second
    found = _paths_by_id(read, folder, sides)
    merged: dict[str, Entry | None] = {}
    for lore_id in sorted(found[0].added.keys() | found[1].added.keys()):
        old = _old_path(lore_id, found)
        places = [_current_path(lore_id, old, paths) for paths in found]
        versions = [
            side[place].after if place in side else None for side, place in zip(sides, places, strict=True)
        ]
        if None in versions or {old, *places} == {places[0]}:
            continue  # the other side did not touch it or deleted it, or both have it at the same path
        target = min(place for place in places if place != old)
        gone = {path for path in (old, *places) if path not in ("", target)}
        before = (first.get(old) or second[old]).before if old else None
        for side, version in zip(sides, versions, strict=True):
            for path in gone:
                side[path] = Difference(before if path == old else None, None)
            side[target] = Difference(before, version)
        merged |= dict.fromkeys(gone) | {target: versions[0]}
    return merged


def _old_path(lore_id: bytes, found: tuple[_Paths, _Paths]) -> str:
    """Return the path from which a side moved the entry; "" if neither did."""
    return min(
        (paths.removed[lore_id] for paths in found if lore_id in paths.removed and lore_id in paths.added),
        default="",
    )


def _current_path(lore_id: bytes, old: str, paths: _Paths) -> str:
    """Return the current path of the entry on a side."""
    is_added = lore_id in paths.added and (not old or lore_id in paths.removed)
    return paths.added[lore_id] if is_added else old


def _paths_by_id(read: Reader, folder: str, sides: tuple[Side, Side]) -> tuple[_Paths, _Paths]:
    """Return the entries that each side removed and added; nothing if no entry can have been moved."""
    removed = [
        _entry_oids(folder, {path: found.before for path, found in side.items() if not found.after})
        for side in sides
    ]
    added = [
        _entry_oids(folder, {path: found.after for path, found in side.items() if not found.before})
        for side in sides
    ]
    if not (all(added) or (removed[0] and added[0]) or (removed[1] and added[1])):
        return _Paths({}, {}), _Paths({}, {})
    contents = read(oid for files in (*removed, *added) for oid in files.values())
    by_id = [
        {_id(contents[oid]): path for path, oid in sorted(files.items(), reverse=True)}
        for files in (*removed, *added)
    ]
    return _Paths(by_id[0], by_id[2]), _Paths(by_id[1], by_id[3])


def _entry_oids(folder: str, files: dict[str, Entry | None]) -> dict[str, str]:
    """Return the object ids, by path, of the files that are regular lore files."""
    return {
        path: entry.oid
        for path, entry in files.items()
        if entry and entry.mode in sync_plan.REGULAR and sync_plan.is_lore(path, folder)
    }


def _id(raw: bytes) -> bytes:
    found = _ID.match(raw[:16_384])
    # A file without an id matches no other one.
    return found[1] if found else raw + b"?"
