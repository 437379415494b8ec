"""Map one row of another tool's export to the fields of an entry.

Keys differ between tools (`memory`, `text`, `observations`; `labels`, `topics`, …) and may be one level deeper
(`metadata`, `payload`). An unusable value is dropped with a message, one that no field takes becomes a property;
only a row without text is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from engram.domain.entry import times
from engram.domain.entry.categories import TYPES

MAX_TEXT = 1_000_000
_EPOCH_DIGITS = 10  # a text of as many digits or more is seconds since 1970, a shorter one a date
_NO_CATEGORY = ("entity", "relation", "memory")

# The keys under which each field may be; the first one with a usable value counts.
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
# Fields that only Engram's own exports have, under their own names and in their own form.
_OWN_TEXTS = ("status", "source_id", "path", "author")
_OWN_LISTS = ("sources", "merged_from", "when")
_OWN_RECORDS = ("relations", "conflicts", "settled")
_NESTED = ("metadata", "payload", "value", "properties", "data", "memory")
_OWN_ROW = ("votes", "source_id")  # a row that has both is of Engram's own export
_DERIVED = ("state", "disputed", "here", "tier", "confirmed")  # in own rows, derived from other fields
_TRIPLE = (("from", "source"), ("relationType",), ("to", "target"))


class RowError(ValueError):
    """A row cannot be used: `message` says why, `hint` what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def fields_of(row: object) -> tuple[dict[str, object], list[str]]:
    """Return the fields found in one parsed row, and a message for each value that was dropped.

    Values are plain: texts, lists of texts, RFC 3339 times, numbers within their range. Other keys of the row are in
    `properties`. Raises RowError if there is no text.
    """
    if isinstance(row, str):
        row = {"content": row}
    if not isinstance(row, dict):
        raise RowError(f"A row must be an object, not {_describe_type(row)}.", "Give each row a 'content'.")
    named = [("", row), *((key, row[key]) for key in _NESTED if isinstance(row.get(key), dict))]
    sources = [source for _, source in named]
    content, used = _find_content(sources, row)
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
    rest = _collect_rest(named, used)
    if rest:
        given = fields.get("properties")
        fields["properties"] = {**rest, **(given if isinstance(given, dict) else {})}
    return fields, dropped


def _collect_rest(
    named: Sequence[tuple[str, Mapping[str, object]]], used: Collection[tuple[int, str]]
) -> dict[str, object]:
    """Return the values of a row, and of the objects in it, that no field used and that are not empty or redundant."""
    rest: dict[str, object] = {}
    used_values = [named[place][1][key] for place, key in used]
    known = ("properties", *(_DERIVED if all(key in named[0][1] for key in _OWN_ROW) else ()))
    inner = [key for key, _ in named]
    for place, (name, source) in enumerate(named):
        for key, value in source.items():
            is_used = (place, key) in used or (not place and key in (*known, *inner))
            is_repeated = isinstance(value, str) and value in used_values
            is_kind = key in _KEYS["category"] and value in _NO_CATEGORY
            if name == "properties" or is_used or is_repeated or is_kind or value in (None, "", [], {}):
                continue
            rest[f"{name}_{key}" if key in rest else str(key)] = value
    return rest


def _find_content(
    sources: Sequence[Mapping[str, object]], row: Mapping[str, object]
) -> tuple[str, set[tuple[int, str]]]:
    """Return the text of a row ("" if it has none), and the keys that it is from, each with the index of its source."""
    for place, key, value in _find_values(sources, _KEYS["content"]):
        text = _parse_content(value)
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


def _parse_category(value: object) -> str:
    """Return a category as given; "" for a type of lore, or for words that only say that this is a record."""
    text = _parse_text(value)
    return "" if text.lower() in (*TYPES, *_NO_CATEGORY) else text


def _parse_type(value: object) -> str:
    text = _parse_text(value).lower()
    return text if text in TYPES else ""


def _describe_type(value: object) -> str:
    names = {list: "a list", dict: "an object", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def _parse_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"it is {_describe_type(value)}, not a text")
    text = str(value).replace("\0", "\ufffd")
    if len(text) > MAX_TEXT:
        raise ValueError(f"it has {len(text):,} characters")
    return text.encode("utf-8", "replace").decode().strip()


def _parse_content(value: object) -> str:
    """Return the text of a content; a list of texts becomes a markdown list, anything else ""."""
    try:
        if isinstance(value, list):
            lines = [_parse_text(item) for item in value if isinstance(item, str)]
            return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines if line)
        return _parse_text(value) if isinstance(value, str) else ""
    except ValueError as error:
        raise RowError(
            f"The text of this row cannot be used: {error}.", "Split it into several rows."
        ) from None


def _parse_words(value: object) -> list[str]:
    """Return a list of texts; a text is split at its commas."""
    items = value.split(",") if isinstance(value, str) else value
    if isinstance(items, dict):
        items = list(items)
    if not isinstance(items, list):
        raise ValueError(f"it is {_describe_type(value)}, not a list")
    named = [item.get("name") if isinstance(item, dict) else item for item in items]
    return list(
        dict.fromkeys(
            word for item in named if isinstance(item, str) and (word := " ".join(_parse_text(item).split()))
        )
    )


def _parse_contexts(value: object) -> list[str]:
    return [text for item in (value if isinstance(value, list) else [value]) if (text := _parse_text(item))]


def _parse_fraction(value: object) -> float:
    if isinstance(value, str) and value.strip().endswith("%"):
        value = float(value.strip()[:-1]) / 100
    number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    if not 0 <= number <= 1:
        raise ValueError("it is not a number from 0 to 1")
    return number


def _parse_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1_000_000:
        raise ValueError("it is not a count")
    return value


def _parse_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"it is {_describe_type(value)}, not true or false")
    return value


def _parse_time(value: object) -> str:
    """Return the RFC 3339 text of a time: an ISO 8601 text, or seconds or milliseconds since 1970."""
    if isinstance(value, str):
        digits = value.strip().replace(".", "", 1)
        if not (digits.isdecimal() and len(digits) >= _EPOCH_DIGITS):
            return times.render(times.parse(value))
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"it is {_describe_type(value)}, not a time")
    seconds = value / 1000 if abs(value) >= 1e11 else float(value)
    return times.render(datetime.fromtimestamp(seconds, UTC))


def _parse_records(value: object) -> list[dict[str, str]]:
    if not isinstance(value, list):
        raise ValueError(f"it is {_describe_type(value)}, not a list")
    return [{str(k): _parse_text(v) for k, v in item.items()} for item in value if isinstance(item, dict)]


def _parse_mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"it is {_describe_type(value)}, not an object")
    return {str(key): item for key, item in value.items() if item not in (None, "", [], {})}


def _parse_votes(value: object) -> dict[str, dict[str, int]]:
    if not isinstance(value, dict) or not all(isinstance(vote, dict) for vote in value.values()):
        raise ValueError("it is not {clone: {up, down, n}}")
    return {
        _parse_text(clone): {key: _parse_count(vote.get(key, 0)) for key in ("up", "down", "n")}
        for clone, vote in value.items()
    }


_READERS: dict[str, Callable[[object], object]] = {
    **dict.fromkeys((*_TEXTS, *_OWN_TEXTS), _parse_text),
    "category": _parse_category,
    "type": _parse_type,
    **dict.fromkeys((*_LISTS, *_OWN_LISTS), _parse_words),
    **dict.fromkeys(_TIMES, _parse_time),
    **dict.fromkeys(("confidence", "stated", "importance"), _parse_fraction),
    **dict.fromkeys(_OWN_RECORDS, _parse_records),
    "context": _parse_contexts,
    "properties": _parse_mapping,
    "validation_count": _parse_count,
    "pinned": _parse_flag,
    "votes": _parse_votes,
}
_FIELDS_OF: dict[str, list[str]] = {}  # the fields that a key may hold
for _field in _READERS:
    for _key in _KEYS.get(_field, [_field]):
        _FIELDS_OF.setdefault(_key, []).append(_field)
