"""Parse the frontmatter that Engram itself writes, one `key: value` a line, without a YAML library.

For any other form these functions return None, and `keys` parses it: importing PyYAML costs more than the
rest of a short command. Property tests compare what they accept with what PyYAML reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from engram.adapters.files.frontmatter.frontmatter import KeyEntry, reads_plain
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
_THOUSANDTHS_BY_TEXT = {two_decimals(number): number for number in range(0, 1001, 10)}
# The value of `origin`, which `engram promote` writes.
_ORIGIN = r'\{scope: "[^"\\]*", store: "[^"\\]*", remote: "[^"\\]*", id: "[^"\\]*", digest: "[^"\\]*"\}'
# The votes of a clone, of an idle month (`idle.2026-04`), or of an entry that was folded into this one (`CLONE.LORE`).
# `_ORIGIN` and `_VOTE` stay texts, which `re` compiles on first use.
_VOTE = r"([A-Za-z0-9_]+(?:\.[0-9]{4}-[0-9]{2}|\.[0-9A-Z]{26})?): \{up: ([0-9]{1,15}), down: ([0-9]{1,15}), n: ([0-9]{1,15})"


def canonical_fields(lines: list[str], categories: Categories) -> dict[str, Any] | None:
    """Return the checked fields of a canonical frontmatter, in file form; None for any other."""
    values: dict[str, Any] = {}
    for line in lines:
        key, _, text = line.partition(": ")
        parse = _PARSERS.get(key)
        value = parse(text) if parse else None
        if value is None:
            return None
        values[key] = value
    if len(values) != len(lines) or "id" not in values:
        return None
    values.pop("origin", None)  # not a field
    return values if values.get("category", DEFAULT_CATEGORY) in categories else None


def canonical_entries(block: str) -> list[KeyEntry] | None:
    """Parse the keys of a frontmatter whose values are all plain or quoted texts, or lists of them; None for any other."""
    entries: dict[str, KeyEntry] = {}
    *lines, rest = block.split("\n")
    if rest:
        return None
    for number, line in enumerate(lines):
        key, _, text = line.partition(": ")
        value = _parse_items(text) if text[:1] == "[" else _parse_text(text, len(text))
        if value is None or not (key.isascii() and key.isidentifier()):
            return None
        entries[key] = KeyEntry(key, value if isinstance(value, str) else [*value], number, number + 1)
    return list(entries.values()) if len(entries) == len(lines) else None


def _one_of(allowed: tuple[str, ...]) -> Callable[[str], str | None]:
    return lambda text: text if text in allowed else None


def _parse_id(text: str) -> str | None:
    return text if ulid.is_valid(text) else None


def _parse_category(text: str) -> str | None:
    return text if text.isascii() and text.isidentifier() and text not in ALIASES else None


def _parse_word(text: str) -> str | None:
    return text if text.isidentifier() and len(text) <= MAX_WORD else _parse_text(text, MAX_WORD)


def _parse_context(text: str) -> tuple[str, ...] | None:
    found = _parse_text(text, MAX_CONTEXT)
    return (found,) if found else None


def _parse_text(text: str, limit: int, *, flow: bool = False) -> str | None:
    """Parse a text of one line, plain or in double quotes without escapes."""
    if len(text) > limit or not text.isprintable():
        return None
    if text[:1] == '"':
        inside = text[1:-1]
        return inside if text[-1] == '"' and inside and '"' not in inside and "\\" not in inside else None
    return text if reads_plain(text, flow) else None


def _parse_time(text: str) -> datetime | None:
    """Parse a time in UTC with a `T` and a `Z`, in milliseconds or less precise."""
    if text[10:11] != "T" or text[-1] != "Z":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is UTC and moment.microsecond % 1000 == 0 else None


def _parse_votes(text: str) -> dict[str, Vote] | None:
    found: dict[str, Vote] = {}
    parts, fullmatch = text[1:-2].split("}, "), re.compile(_VOTE).fullmatch
    for part in parts:
        match = fullmatch(part)
        if not match:
            return None
        found[match[1]] = Vote(int(match[2]), int(match[3]), int(match[4]))
    return found if text[0] == "{" and text[-2:] == "}}" and len(found) == len(parts) else None


def _parse_count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _parse_items(text: str) -> list[str] | None:
    """Parse a list of texts in brackets, plain or in double quotes without escapes."""
    if text[:1] != "[" or text[-1] != "]":
        return None
    items = text[1:-1].split(", ")
    if _WORDS.fullmatch(text):
        return items
    found = [_parse_text(item, len(item), flow=True) for item in items]
    return [item for item in found if item is not None] if None not in found else None


def _parse_words(text: str) -> tuple[str, ...] | None:
    words = tuple(_parse_items(text) or ())
    if not words:
        return None
    is_within_limits = len(text) <= MAX_WORD or (len(words) <= MAX_ITEMS and max(map(len, words)) <= MAX_WORD)
    return words if is_within_limits else None


def _parse_moments(text: str) -> tuple[str, ...] | None:
    """Parse moments, each `kind: pattern`."""
    if text[:1] != "[" or text[-1] != "]":
        return None
    found: list[str] = []
    for item in text[1:-1].split(", "):
        kind, _, quoted = item.partition(": ")
        pattern = _parse_text(quoted, MAX_WORD, flow=True) if kind.isidentifier() and kind.islower() else None
        if not pattern or pattern != " ".join(pattern.split()):
            return None
        found.append(f"{kind}: {pattern}")
    is_within_limits = (
        len(found) <= MOST and max(map(len, found)) <= LONGEST and len(set(found)) == len(found)
    )
    return tuple(found) if is_within_limits else None


def _parse_ids(text: str) -> tuple[str, ...] | None:
    words = _parse_words(text)
    return words if words and all(map(ulid.is_valid, words)) else None


def _parse_relations(text: str) -> tuple[Relation, ...] | None:
    found: list[Relation] = []
    for part in text[2:-2].split("}, {"):
        kind, _, lore_id = part.removeprefix("kind: ").partition(", id: ")
        if kind not in RELATION_KINDS or not part.startswith("kind: ") or not ulid.is_valid(lore_id):
            return None
        found.append(Relation(kind, lore_id))
    return tuple(found) if text[:2] == "[{" and text[-2:] == "}]" else None


def _parse_origin(text: str) -> str | None:
    return text if text.isprintable() and re.fullmatch(_ORIGIN, text) else None


def _parse_importance(text: str) -> float | None:
    return float(text) if text[:2] == "0." and text[2:].isdigit() and text.isascii() else None


# Keys not listed, and values for which a parser returns None, are left to `fields`: errors, `conflicts`, rarer forms.
_PARSERS: dict[str, Callable[[str], Any]] = {
    "id": _parse_id,
    "category": _parse_category,
    "type": _one_of(TYPES),
    "status": _one_of(STATUSES),
    "confidence": lambda text: text if text in _THOUSANDTHS_BY_TEXT else None,
    "prior": _THOUSANDTHS_BY_TEXT.get,
    "votes": _parse_votes,
    "validation_count": _parse_count,
    "last_validated": _parse_time,
    "context": _parse_context,
    "tags": _parse_words,
    "files": _parse_words,
    "entities": _parse_words,
    "when": _parse_moments,
    "relations": _parse_relations,
    "merged_from": _parse_ids,
    "importance": _parse_importance,
    "pinned": {"true": True, "false": False}.get,
    "expires_at": _parse_time,
    "agent": _parse_word,
    "author": _parse_word,
    "source_id": _parse_word,
    "sources": _parse_words,
    "created_at": _parse_time,
    "updated_at": _parse_time,
    "origin": _parse_origin,
}
