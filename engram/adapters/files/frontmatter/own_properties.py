"""Properties that are a note's own though an entry has a field of that name: `status: done`, `id: 20240131`.

They stay as they are. A value that the field cannot have is the note's own; Engram then writes the field as
`engram_<key>`, and where there is such a key, the plain one is never Engram's.
"""

from __future__ import annotations

from engram.adapters.files.frontmatter import fields
from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.domain.errors import ValidationError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import Entry
    from engram.domain.entry.categories import Categories

PREFIX = "engram_"
_OWN = "own "  # before the key of a property that is the note's; no key of a file can be called so


def engrams(entries: Sequence[Entry], own: Collection[str] = ()) -> tuple[list[Entry], frozenset[str]]:
    """Return the keys under the names of their fields, and the fields that are written with the prefix.

    `own` are keys whose values are the note's, besides those that a prefixed key says are.
    """
    prefixed = {entry.key.removeprefix(PREFIX) for entry in entries if entry.key.startswith(PREFIX)}
    apart = frozenset(prefixed.intersection(fields.READERS)) | frozenset(own)
    if not apart:
        return list(entries), apart
    found = []
    for entry in entries:
        plain = entry.key.removeprefix(PREFIX)
        if entry.key in apart:
            found.append(entry._replace(key=_OWN + entry.key))
        else:
            found.append(entry._replace(key=plain) if plain in apart else entry)
    return found, apart


def parse(
    entries: Sequence[Entry], categories: Categories, check: Callable[[dict[str, Any]], object]
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that a note says, and which of its keys are its own. Never raises.

    `check` raises ValidationError for values that no entry can have.
    """
    values: dict[str, Any] = {}
    own = []
    for entry in entries:
        try:
            values |= fields.parse([entry], categories)
        except Problem:
            own.append(entry.key)
    while True:
        try:
            check(values)
        except ValidationError as error:
            if error.field not in values:  # of what is no property: its text
                return values, own
            del values[error.field]
            own.append(error.field)
        else:
            return values, own


def lines(apart: Collection[str], key: str, value: Any) -> list[str]:
    """Return the lines of a field; one that is written with the prefix also says its default."""
    if key not in apart:
        return fields.lines(key, value)
    if value is None or value == {}:
        return [f"{PREFIX}{key}: ~"]
    if value == ():
        return [f"{PREFIX}{key}: []"]
    return fields.lines(PREFIX + key, value, key)
