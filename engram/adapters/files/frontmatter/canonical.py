"""Readers of the frontmatter that Engram itself writes, with one `key: value` a line, which need no YAML library.

They know only that form and answer None to any other, which `keys` reads: importing PyYAML costs more than
all the rest of a short command. Property tests compare what they accept with what PyYAML reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from engram.adapters.files.frontmatter.frontmatter import Entry, reads_plain
from engram.domain.entry import ulid
from engram.domain.entry.categories import ALIASES, DEFAULT_CATEGORY, TYPES
from engram.domain.entry.confidence import Vote, two_decimals
from engram.domain.entry.lore import MAX_CONTEXT, MAX_ITEMS, MAX_WORD, RELATION_KINDS, STATUSES, Relation
from engram.domain.entry.moments import LONGEST, MOST
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from engram.domain.entry.categories import Categories

_WORDS = re.compile(r"\[[\w./][\w./-]*(?:, [\w./][\w./-]*)*\]", re.ASCII)  # a list of plain words
_HUNDREDTHS = {two_decimals(number): number for number in range(0, 1001, 10)}
# What `engram promote` notes: the value of `origin`.
_ORIGIN = r'\{scope: "[^"\\]*", store: "[^"\\]*", remote: "[^"\\]*", id: "[^"\\]*", digest: "[^"\\]*"\}'
# The votes of one account: of a clone, of an idle month (`idle.2026-04`), of an entry that was folded into this one
# (`CLONE.LORE`). Both are compiled by `re` at their first use.
_VOTE = r"([A-Za-z0-9_]+(?:\.[0-9]{4}-[0-9]{2}|\.[0-9A-Z]{26})?): \{up: ([0-9]{1,15}), down: ([0-9]{1,15}), n: ([0-9]{1,15})"


def canonical_fields(lines: list[str], categories: Categories) -> dict[str, Any] | None:
    """Return the fields of a canonical frontmatter, checked, in file form; None: this takes the long way."""
    values: dict[str, Any] = {}
    for line in lines:
        key, _, text = line.partition(": ")
        reader = _READERS.get(key)
        value = reader(text) if reader else None
        if value is None:
            return None
        values[key] = value
    if len(values) != len(lines) or "id" not in values:
        return None
    values.pop("origin", None)  # no field: what `engram promote` notes beside them
    return values if values.get("category", DEFAULT_CATEGORY) in categories else None


def canonical_entries(block: str) -> list[Entry] | None:
    """Read the keys of a frontmatter whose values are all plain or quoted texts or lists of them; None: any other."""
    found: dict[str, Entry] = {}
    *lines, rest = block.split("\n")
    if rest:
        return None
    for number, line in enumerate(lines):
        key, _, text = line.partition(": ")
        value = _items(text) if text[:1] == "[" else _line(text, len(text))
        if value is None or not (key.isascii() and key.isidentifier()):
            return None
        found[key] = Entry(key, value if isinstance(value, str) else [*value], number, number + 1)
    return list(found.values()) if len(found) == len(lines) else None


def _one_of(allowed: tuple[str, ...]) -> Callable[[str], str | None]:
    return lambda text: text if text in allowed else None


def _id(text: str) -> str | None:
    return text if ulid.is_valid(text) else None


def _category(text: str) -> str | None:
    return text if text.isascii() and text.isidentifier() and text not in ALIASES else None


def _word(text: str) -> str | None:
    return text if text.isidentifier() and len(text) <= MAX_WORD else _line(text, MAX_WORD)


def _context(text: str) -> tuple[str, ...] | None:
    found = _line(text, MAX_CONTEXT)
    return (found,) if found else None


def _line(text: str, limit: int, *, flow: bool = False) -> str | None:
    """Return a text of one line, plain or in double quotes without an escape."""
    if len(text) > limit or not text.isprintable():
        return None
    if text[:1] == '"':
        inside = text[1:-1]
        return inside if text[-1] == '"' and inside and '"' not in inside and "\\" not in inside else None
    return text if reads_plain(text, flow) else None


def _time(text: str) -> datetime | None:
    """Return a time in UTC with a `T` and a `Z`, to the millisecond at most."""
    if text[10:11] != "T" or text[-1] != "Z":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is UTC and moment.microsecond % 1000 == 0 else None


def _votes(text: str) -> dict[str, Vote] | None:
    found: dict[str, Vote] = {}
    parts, matched = text[1:-2].split("}, "), re.compile(_VOTE).fullmatch
    for part in parts:
        match = matched(part)
        if not match:
            return None
        found[match[1]] = Vote(int(match[2]), int(match[3]), int(match[4]))
    return found if text[0] == "{" and text[-2:] == "}}" and len(found) == len(parts) else None


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _items(text: str) -> list[str] | None:
    """Return the texts of a list in brackets, plain or in double quotes without an escape."""
    if text[:1] != "[" or text[-1] != "]":
        return None
    items = text[1:-1].split(", ")
    if _WORDS.fullmatch(text):
        return items
    found = [_line(item, len(item), flow=True) for item in items]
    return [item for item in found if item is not None] if None not in found else None


def _words(text: str) -> tuple[str, ...] | None:
    words = tuple(_items(text) or ())
    if not words:
        return None
    short = len(text) <= MAX_WORD or (len(words) <= MAX_ITEMS and max(map(len, words)) <= MAX_WORD)
    return words if short else None


def _moments(text: str) -> tuple[str, ...] | None:
    """Return moments, each a mapping of its kind to a pattern."""
    if text[:1] != "[" or text[-1] != "]":
        return None
    found: list[str] = []
    for item in text[1:-1].split(", "):
        kind, _, quoted = item.partition(": ")
        pattern = _line(quoted, MAX_WORD, flow=True) if kind.isidentifier() and kind.islower() else None
        if not pattern or pattern != " ".join(pattern.split()):
            return None
        found.append(f"{kind}: {pattern}")
    short = len(found) <= MOST and max(map(len, found)) <= LONGEST and len(set(found)) == len(found)
    return tuple(found) if short else None


def _ids(text: str) -> tuple[str, ...] | None:
    words = _words(text)
    return words if words and all(map(ulid.is_valid, words)) else None


def _relations(text: str) -> tuple[Relation, ...] | None:
    found: list[Relation] = []
    for part in text[2:-2].split("}, {"):
        kind, _, lore_id = part.removeprefix("kind: ").partition(", id: ")
        if kind not in RELATION_KINDS or not part.startswith("kind: ") or not ulid.is_valid(lore_id):
            return None
        found.append(Relation(kind, lore_id))
    return tuple(found) if text[:2] == "[{" and text[-2:] == "}]" else None


def _origin(text: str) -> str | None:
    return text if text.isprintable() and re.fullmatch(_ORIGIN, text) else None


def _importance(text: str) -> float | None:
    return float(text) if text[:2] == "0." and text[2:].isdigit() and text.isascii() else None


# What a reader answers None to takes the long way: unknown keys, errors, `conflicts`, rarer forms.
_READERS: dict[str, Callable[[str], Any]] = {
    "id": _id,
    "category": _category,
    "type": _one_of(TYPES),
    "status": _one_of(STATUSES),
    "confidence": lambda text: text if text in _HUNDREDTHS else None,
    "prior": _HUNDREDTHS.get,
    "votes": _votes,
    "validation_count": _count,
    "last_validated": _time,
    "context": _context,
    "tags": _words,
    "files": _words,
    "entities": _words,
    "when": _moments,
    "relations": _relations,
    "merged_from": _ids,
    "importance": _importance,
    "pinned": {"true": True, "false": False}.get,
    "expires_at": _time,
    "agent": _word,
    "author": _word,
    "source_id": _word,
    "sources": _words,
    "created_at": _time,
    "updated_at": _time,
    "origin": _origin,
}
