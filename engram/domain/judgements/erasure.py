"""The list of sources and lines that are erased: no clone reads, writes or restores them any more.

It is the file `erased` at the top of the branch: one id of a source or of a line in each of its lines. It only grows.
"""

from __future__ import annotations

import json

from engram.domain.entry import ulid
from engram.domain.judgements import ledger
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def parse(raw: bytes) -> frozenset[str]:
    """Return the ids of a list; what is no id is passed over."""
    words = raw.decode("ascii", "replace").split()
    return frozenset(word for word in words if ulid.is_valid(word))


def render(erased: Collection[str]) -> bytes:
    """Return the list of these ids, the same bytes everywhere."""
    return "".join(f"{one}\n" for one in sorted(erased)).encode()


def months(erased: Collection[str]) -> frozenset[str]:
    """Return the months (YYMM) of these ids: a line is in a file of its month."""
    return frozenset(ulid.moment(one).strftime("%y%m") for one in erased)


def may_hold(path: str, erased: Collection[str], erased_months: Collection[str]) -> bool:
    """Return whether the file at this path is, or may hold, something erased; `erased_months` are those of `months`."""
    source = source_of(path)
    if source is None:
        return False
    # A legacy line's id has the time of its entry, not that of the file.
    return not source or source in erased or any(f"-{month}" in path for month in erased_months)


def source_of(path: str) -> str | None:
    """Return the writer of a ledger or of the file that says who that is; "" for legacy accounts, else None."""
    folder, _, name = path.rpartition("/")
    source = folder.rpartition("/")[2]
    if name == ledger.WHO and ulid.is_valid(source) and path == ledger.who_path(source):
        return source
    return ledger.source_of(path)


def without(path: str, raw: bytes, erased: Collection[str]) -> bytes:
    """Return the bytes of the file at this path without what is erased; b"" where that is all of it."""
    if source_of(path) in erased:
        return b""
    wanted = [one.encode() for one in erased if one.encode() in raw]
    if not wanted:
        return raw
    return b"".join(
        line
        for line in raw.splitlines(keepends=True)
        if not any(one in line for one in wanted) or _id(line) not in erased
    )


def _id(line: bytes) -> str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return str(found.get("id")) if isinstance(found, dict) else ""
