"""A note's own properties that have the name of a field: `status: done`, `id: 20240131`.

They stay unchanged. A property is the note's own if its value is invalid for the field; Engram then writes the field as
`engram_<key>`. If there is such a key, the plain one is always the note's own.
"""

from __future__ import annotations

from engram.adapters.files.frontmatter import fields
from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.domain.errors import ValidationError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import KeyEntry
    from engram.domain.entry.categories import Categories

PREFIX = "engram_"
_OWN = "own "  # prefix in memory for keys that are the note's own


def resolve_prefixes(
    entries: Sequence[KeyEntry], own: Collection[str] = ()
) -> tuple[list[KeyEntry], frozenset[str]]:
    """Return the keys under the names of their fields, and the fields that are written with the prefix.

    `own` are keys that are the note's own, besides those of which a prefixed key exists.
    """
    names = {entry.key.removeprefix(PREFIX) for entry in entries if entry.key.startswith(PREFIX)}
    prefixed = frozenset(names.intersection(fields.READERS)) | frozenset(own)
    if not prefixed:
        return list(entries), prefixed
    found = []
    for entry in entries:
        plain = entry.key.removeprefix(PREFIX)
        if entry.key in prefixed:
            found.append(entry._replace(key=_OWN + entry.key))
        else:
            found.append(entry._replace(key=plain) if plain in prefixed else entry)
    return found, prefixed


def parse(
    entries: Sequence[KeyEntry], categories: Categories, check: Callable[[dict[str, Any]], object]
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields in a note, and the keys that are its own. Never raises.

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
            if error.field not in values:  # not about a property but about the text
                return values, own
            del values[error.field]
            own.append(error.field)
        else:
            return values, own


def lines(prefixed: Collection[str], key: str, value: Any) -> list[str]:
    """Return the lines of a field; a prefixed one is written even if it has its default value."""
    if key not in prefixed:
        return fields.lines(key, value)
    if value is None or value == {}:
        return [f"{PREFIX}{key}: ~"]
    if value == ():
        return [f"{PREFIX}{key}: []"]
    return fields.lines(PREFIX + key, value, key)
