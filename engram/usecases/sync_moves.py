"""A lore that one side moved and the other changed is one lore still: its two versions are merged where it is now.

Without this the merge would see a deletion and a new file, and the lore would be there twice.
"""

from __future__ import annotations

import re

from engram.adapters.git.differences import Difference
from engram.domain import sync_plan
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engram.adapters.git.tree import Entry

    Side = dict[str, Difference]
    Reader = Callable[[Iterable[str]], dict[str, bytes]]

_ID = re.compile(rb"^---\r?\n(?:[^\n]*\n){0,60}?id: ?\"?([0-7][0-9A-HJKMNP-TV-Z]{25})\"?\s*$", re.MULTILINE)


def follow_moves(read: Reader, folder: str, first: Side, second: Side) -> dict[str, Entry | None]:
    """Rewrite both sides so that a lore moved by one, or by both, stands at one path in both.

    Where both moved it, to different places, the first path in alphabetical order is taken. Returns what the
    merged tree holds at each of these paths, unless the versions at the new one have to be merged.
    """
    moves = _moves(read, folder, first), _moves(read, folder, second)
    settled: dict[str, Entry | None] = {}
    for old in sorted(moves[0].keys() | moves[1].keys()):
        places = [move.get(old, old) for move in moves]
        versions = [
            side[place].after if place in side else None
            for side, place in zip((first, second), places, strict=True)
        ]
        if None in versions:
            continue  # the other side left it alone, or deleted it
        target = min({place for place in places if place != old})
        before = (first.get(old) or second[old]).before
        for side, version in zip((first, second), versions, strict=True):
            for path in {old, *places} - {target}:
                side[path] = Difference(before if path == old else None, None)
            side[target] = Difference(before, version)
        settled |= dict.fromkeys({old, *places}) | {target: versions[0]}
    return settled


def _moves(read: Reader, folder: str, side: Side) -> dict[str, str]:
    """Where a side moved lore: old path to new one."""
    lore = [path for path in side if sync_plan.is_lore(path, folder)]
    left = {path: entry for path in lore if side[path].after is None and (entry := side[path].before)}
    new = {path: entry for path in lore if side[path].before is None and (entry := side[path].after)}
    if not (left and new):
        return {}
    regular = [entry.oid for entry in (*left.values(), *new.values()) if entry.mode in sync_plan.REGULAR]
    contents = read(regular)
    places = {_id(contents.get(entry.oid, b"")): path for path, entry in sorted(new.items(), reverse=True)}
    found = {path: places.get(_id(contents.get(entry.oid, b""))) for path, entry in left.items()}
    return {old: place for old, place in found.items() if place}


def _id(raw: bytes) -> bytes:
    found = _ID.match(raw[:16_384])
    # A file without an id is never the same as another one.
    return found[1] if found else raw + b"?"
