"""One row of another tool's export, as lore fields: which key holds what, and in what shape.

Keys differ between tools (`memory`, `text`, `observations`; `labels`, `topics`, …) and may lie one level
deeper (`metadata`, `payload`). A value in a shape that cannot be used is left out and told, one that no field
takes is a property; only a row without text fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from engram.domain.entry import times
from engram.domain.entry.categories import TYPES

MAX_TEXT = 1_000_000
_EPOCH_DIGITS = 10  # a text of that many digits is seconds since 1970, a shorter one a date
_NO_CATEGORY = ("entity", "relation", "memory")

# Where each field may be found; the first key with a usable value counts.
_KEYS = {
    "content": [
        *("content", "text", "body", "memory", "observation", "observations", "fact", "narrative"),
        *("note", "value", "summary", "facts", "page_content"),
    ],
    "title": ["title", "name", "subject", "label"],
    "category": ["category", "kind", "memory_type", "entityType", "type"],
    "type": ["type", "memory_type"],
    "agent": ["agent", "agent_id", "author"],
    "id": ["id", "uuid", "memory_id", "_id"],
    "tags": ["tags", "labels", "topics", "concepts", "categories", "keywords"],
    "files": ["files", "file_paths", "paths", "file", "files_modified"],
    "created_at": [
        *("created_at", "createdAt", "created", "timestamp", "date"),
        *("created_at_iso", "created_at_epoch", "valid_at", "time"),
    ],
    "updated_at": ["updated_at", "updatedAt", "updated", "modified", "modified_at"],
    "expires_at": ["expires_at", "expiresAt"],
}
_TEXTS = ("title", "agent", "id")
_LISTS = ("tags", "files", "entities")
_TIMES = ("created_at", "updated_at", "last_validated", "expires_at")
# Fields only Engram's own exports have: taken under their own name, in their own shape.
_OWN_TEXTS = ("status", "source_id", "path", "author")
_OWN_LISTS = ("sources", "merged_from", "when")
_OWN_RECORDS = ("relations", "conflicts", "settled")
_NESTED = ("metadata", "payload", "value", "properties", "data", "memory")
_OWN_ROW = ("votes", "source_id")  # a row that has both is of Engram's own export
_OF_OWN_ROWS = ("state", "disputed", "here", "tier", "confirmed")  # which only say what others come to
_TRIPLE = (("from", "source"), ("relationType",), ("to", "target"))


class RowError(ValueError):
    """A row that cannot be used: what is wrong with it, and what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def fields_of(row: object) -> tuple[dict[str, object], list[str]]:
    """Return the lore fields of one parsed row, and a message for each value that had to be dropped.

    Only fields that were found, as plain values: texts, lists of texts, RFC 3339 times, numbers in their
    range. What no field takes is in `properties`, by its key. Raises RowError where there is no text.
    """
    if isinstance(row, str):
        row = {"content": row}
    if not isinstance(row, dict):
        raise RowError(f"A row must be an object, not {_kind(row)}.", "Give each row a 'content'.")
    named = [("", row), *((key, row[key]) for key in _NESTED if isinstance(row.get(key), dict))]
    sources = [source for _, source in named]
    content, used = _content(sources, row)
    if not content:
        raise RowError("This row has no text.", "Give it a 'content' (or text, body, memory, observation).")
    fields: dict[str, object] = {"content": content}
    dropped: list[str] = []
    possible = {field for source in sources for key in source for field in _FIELDS_OF.get(key, ())}
    for field, read in _READERS.items():
        if field not in possible:
            continue
        for place, key, value in _find_values(sources, _KEYS.get(field, [field])):
            try:
                usable = read(value)
            except (ValueError, OverflowError, OSError) as error:
                dropped.append(f"'{key}' was left out: {error}.")
                used.add((place, key))
                continue
            if usable not in ("", [], {}):
                fields[field] = usable
                used.add((place, key))
                break
    rest = _rest(named, used)
    if rest:
        given = fields.get("properties")
        fields["properties"] = {**rest, **(given if isinstance(given, dict) else {})}
    return fields, dropped


def _rest(
    named: Sequence[tuple[str, Mapping[str, object]]], used: Collection[tuple[int, str]]
) -> dict[str, object]:
    """Return what no field has taken of a row and the objects in it that were `named`, but for what says nothing."""
    rest: dict[str, object] = {}
    taken = [named[place][1][key] for place, key in used]
    known = ("properties", *(_OF_OWN_ROWS if all(key in named[0][1] for key in _OWN_ROW) else ()))
    inner = [key for key, _ in named]
    for place, (name, source) in enumerate(named):
        for key, value in source.items():
            is_taken = (place, key) in used or (not place and key in (*known, *inner))
            is_again = isinstance(value, str) and value in taken
            is_kind = key in _KEYS["category"] and value in _NO_CATEGORY
            if name == "properties" or is_taken or is_again or is_kind or value in (None, "", [], {}):
                continue
            rest[f"{name}_{key}" if key in rest else str(key)] = value
    return rest


def _content(
    sources: Sequence[Mapping[str, object]], row: Mapping[str, object]
) -> tuple[str, set[tuple[int, str]]]:
    """Return the text of a row, "" where it has none, and the keys that it is from, each with the place of its source."""
    for place, key, value in _find_values(sources, _KEYS["content"]):
        text = _text_or_list(value)
        if text:
            is_whole = not isinstance(value, list) or all(isinstance(item, str) for item in value)
            return text, {(place, key)} if is_whole else set()
    keys = [next((key for key in names if row.get(key)), names[0]) for names in _TRIPLE]
    triple = [row.get(key) for key in keys]
    if all(isinstance(word, str) and word.strip() for word in triple):
        return " ".join(str(word).strip() for word in triple), {(0, key) for key in keys}
    return "", set()


def _find_values(
    sources: Sequence[Mapping[str, object]], keys: Iterable[str]
) -> Iterator[tuple[int, str, object]]:
    for place, source in enumerate(sources):
        for key in keys:
            if source.get(key) is not None:
                yield place, key, source[key]


def _category(value: object) -> str:
    """Return a category in whatever words; not what is a type of lore, or only says that this is a record."""
    text = _text(value)
    return "" if text.lower() in (*TYPES, *_NO_CATEGORY) else text


def _type(value: object) -> str:
    text = _text(value).lower()
    return text if text in TYPES else ""


def _kind(value: object) -> str:
    names = {list: "a list", dict: "an object", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"it is {_kind(value)}, not a text")
    text = str(value).replace("\0", "\ufffd")
    if len(text) > MAX_TEXT:
        raise ValueError(f"it has {len(text):,} characters")
    return text.encode("utf-8", "replace").decode().strip()


def _text_or_list(value: object) -> str:
    """Return the text of a content; a list of texts becomes a list in markdown, anything else no text."""
    try:
        if isinstance(value, list):
            lines = [_text(item) for item in value if isinstance(item, str)]
            return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines if line)
        return _text(value) if isinstance(value, str) else ""
    except ValueError as error:
        raise RowError(
            f"The text of this row cannot be used: {error}.", "Split it into several rows."
        ) from None


def _words(value: object) -> list[str]:
    """Return a list of texts; one text is split at its commas."""
    items = value.split(",") if isinstance(value, str) else value
    if isinstance(items, dict):
        items = list(items)
    if not isinstance(items, list):
        raise ValueError(f"it is {_kind(value)}, not a list")
    named = [item.get("name") if isinstance(item, dict) else item for item in items]
    return list(
        dict.fromkeys(
            word for item in named if isinstance(item, str) and (word := " ".join(_text(item).split()))
        )
    )


def _contexts(value: object) -> list[str]:
    return [text for item in (value if isinstance(value, list) else [value]) if (text := _text(item))]


def _fraction(value: object) -> float:
    if isinstance(value, str) and value.strip().endswith("%"):
        value = float(value.strip()[:-1]) / 100
    number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    if not 0 <= number <= 1:
        raise ValueError("it is not a number from 0 to 1")
    return number


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1_000_000:
        raise ValueError("it is not a count")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"it is {_kind(value)}, not true or false")
    return value


def _time(value: object) -> str:
    """RFC 3339 text of a time: ISO 8601 text, or seconds or milliseconds since 1970."""
    if isinstance(value, str):
        digits = value.strip().replace(".", "", 1)
        if not (digits.isdecimal() and len(digits) >= _EPOCH_DIGITS):
            return times.render(times.parse(value))
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"it is {_kind(value)}, not a time")
    seconds = value / 1000 if abs(value) >= 1e11 else float(value)
    return times.render(datetime.fromtimestamp(seconds, UTC))


def _records(value: object) -> list[dict[str, str]]:
    if not isinstance(value, list):
        raise ValueError(f"it is {_kind(value)}, not a list")
    return [{str(k): _text(v) for k, v in item.items()} for item in value if isinstance(item, dict)]


def _mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"it is {_kind(value)}, not an object")
    return {str(key): one for key, one in value.items() if one not in (None, "", [], {})}


def _votes(value: object) -> dict[str, dict[str, int]]:
    if not isinstance(value, dict) or not all(isinstance(vote, dict) for vote in value.values()):
        raise ValueError("it is not {clone: {up, down, n}}")
    return {
        _text(clone): {key: _count(vote.get(key, 0)) for key in ("up", "down", "n")}
        for clone, vote in value.items()
    }


_READERS: dict[str, Callable[[object], object]] = {
    **dict.fromkeys((*_TEXTS, *_OWN_TEXTS), _text),
    "category": _category,
    "type": _type,
    **dict.fromkeys((*_LISTS, *_OWN_LISTS), _words),
    **dict.fromkeys(_TIMES, _time),
    **dict.fromkeys(("confidence", "stated", "importance"), _fraction),
    **dict.fromkeys(_OWN_RECORDS, _records),
    "context": _contexts,
    "properties": _mapping,
    "validation_count": _count,
    "pinned": _flag,
    "votes": _votes,
}
_FIELDS_OF: dict[str, list[str]] = {}  # the fields that a key may be for
for _field in _READERS:
    for _key in _KEYS.get(_field, [_field]):
        _FIELDS_OF.setdefault(_key, []).append(_field)
