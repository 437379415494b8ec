"""The list of erased sources and lines, which no clone reads, writes or restores.

It is the file `erased` at the top of the branch, with the id of a source or a ledger line on each line. It only grows.
"""

from __future__ import annotations

import json

from engram.domain.entry import ulid
from engram.domain.judgements import ledger
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def parse(raw: bytes) -> frozenset[str]:
    """Return the ids of a list; anything else is skipped."""
    words = raw.decode("ascii", "replace").split()
    return frozenset(word for word in words if ulid.is_valid(word))


def render(erased: Collection[str]) -> bytes:
    """Return the list of these ids, with the same bytes in every clone."""
    return "".join(f"{item}\n" for item in sorted(erased)).encode()


def months(erased: Collection[str]) -> frozenset[str]:
    """Return the months (YYMM) of these ids, since a line is in the file of its month."""
    return frozenset(ulid.moment(item).strftime("%y%m") for item in erased)


def may_hold(path: str, erased: Collection[str], erased_months: Collection[str]) -> bool:
    """Return whether the file at this path is erased, or may contain erased lines; `erased_months` is the result of `months`."""
    source = source_of(path)
    if source is None:
        return False
    # The id of a legacy line has the time of its entry, not the month of the file.
    return not source or source in erased or any(f"-{month}" in path for month in erased_months)


def source_of(path: str) -> str | None:
    """Return the writer of a ledger or of the file with their name; "" for legacy accounts, else None."""
    folder, _, name = path.rpartition("/")
    source = folder.rpartition("/")[2]
    if name == ledger.NAME_FILE and ulid.is_valid(source) and path == ledger.name_path(source):
        return source
    return ledger.source_of(path)


def without(path: str, raw: bytes, erased: Collection[str]) -> bytes:
    """Return the content of the file at this path without erased lines; b"" if nothing is left."""
    if source_of(path) in erased:
        return b""
    found = [item.encode() for item in erased if item.encode() in raw]
    if not found:
        return raw
    return b"".join(
        line
        for line in raw.splitlines(keepends=True)
        if not any(item in line for item in found) or _id(line) not in erased
    )


def _id(line: bytes) -> str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return str(found.get("id")) if isinstance(found, dict) else ""
