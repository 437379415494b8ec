"""The fields in a frontmatter: YAML strings to values, with errors that name the line, and values back to lines.

Values are in *file form*, so that an edit can compare those in a file with those wanted: `confidence` is its
two-decimal text, `prior` thousandths, times are datetimes in milliseconds, lists are tuples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from engram.adapters.files.frontmatter.frontmatter import Problem, is_readable, scalar
from engram.domain.entry import times, ulid
from engram.domain.entry.categories import TYPES
from engram.domain.entry.confidence import Vote, stated_text
from engram.domain.entry.lore import RELATION_KINDS, STATUSES, Conflict, Relation, Settlement
from engram.domain.entry.moments import moment_of
from engram.domain.errors import ValidationError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import KeyEntry, Value
    from engram.domain.entry.categories import Categories

_DECIMAL = re.compile(r"([-+]?)([0-9]{0,18})(?:\.([0-9]*))?", re.ASCII)
_NOTHING = ("", "~", "null")
_YES = ("true", "yes", "on")
_NO = ("false", "no", "off")


class ExpectedError(Exception):
    """A value is invalid; the message says what was expected."""


def parse(entries: list[KeyEntry], categories: Categories) -> dict[str, Any]:
    """Return the known fields of a frontmatter, in file form. Raises Problem with the line of the key."""
    values = parse_by(READERS, entries)
    if "category" in values:
        values["category"] = _parse_category(values["category"], entries, categories)
    return values


def parse_by(readers: Mapping[str, Callable[[Value], Any]], entries: list[KeyEntry]) -> dict[str, Any]:
    """Return the values of the keys that have a reader. Raises Problem with the line of the key."""
    values: dict[str, Any] = {}
    for entry in entries:
        reader = readers.get(entry.key)
        if reader is None:
            continue
        try:
            values[entry.key] = reader(entry.value)
        except ExpectedError as expected:
            message = f"{entry.key} must be {expected}, not {_describe_value(entry.value)}"
            raise Problem(entry.line, message, _hint(entry.key)) from None
    return values


def foreign_date(entries: list[KeyEntry]) -> datetime | None:
    """Return the creation time in a note of another tool: its `date` or `created`, if that is a time."""
    for name in ("date", "created"):
        for entry in entries:
            if entry.key == name and isinstance(entry.value, str):
                try:
                    return _parse_time(entry.value)
                except ExpectedError:
                    continue
    return None


def thousandths_of(text: str) -> int | None:
    """Return a decimal number in thousandths, rounded half away from zero; None if `text` is not one."""
    match = _DECIMAL.fullmatch(text)
    if not match or not (match[2] or match[3]):
        return None
    fraction = ((match[3] or "") + "0000")[:4]
    value = int(match[2] or "0") * 1000 + (int(fraction) + 5) // 10
    return -value if match[1] == "-" else value


def _hint(key: str) -> str:
    if key == "id":
        return "Remove the line and the entry gets a new id when it is next written, or restore the old one."
    return f"Correct the line, or remove it to get the default {key}."


def _describe_value(value: Value) -> str:
    if isinstance(value, str):
        return f"'{value}'" if len(value) <= 40 else f"'{value[:40]}…'"
    return "a list" if isinstance(value, list) else "a mapping"


def _parse_category(text: str, entries: list[KeyEntry], categories: Categories) -> str:
    try:
        return categories.parse(text)
    except ValidationError as error:
        line = next(entry.line for entry in entries if entry.key == "category")
        raise Problem(line, error.message, error.hint) from None


def _parse_text(value: Value) -> str:
    if not isinstance(value, str):
        raise ExpectedError("one text")
    return value


def stripped_text(value: Value) -> str:
    """Return a text without white space around it. Raises ExpectedError."""
    return _parse_text(value).strip()


def _parse_id(value: Value) -> str:
    text = value if isinstance(value, str) else "?"
    if text and not ulid.is_valid(text):
        raise ExpectedError("a ULID: 26 capital letters and digits, of a time before the year 10000")
    return text


def choice(allowed: tuple[str, ...]) -> Callable[[Value], str]:
    """Return a reader that accepts one of these words, in any case."""

    def read(value: Value) -> str:
        text = value.strip().lower() if isinstance(value, str) else ""
        if text not in allowed:
            raise ExpectedError("one of " + ", ".join(allowed))
        return text

    return read


def _parse_confidence(value: Value) -> str:
    found = thousandths_of(value) if isinstance(value, str) else None
    if found is None or not 0 <= found <= 1000:
        raise ExpectedError("a number from 0.00 to 1.00")
    return stated_text(found)


def _parse_prior(value: Value) -> int:
    found = thousandths_of(value) if isinstance(value, str) else None
    if found is None:
        raise ExpectedError("a number like 0.70")
    return found


def _parse_votes(value: Value) -> dict[str, Vote]:
    if isinstance(value, str) and value in _NOTHING:
        return {}
    if not isinstance(value, dict):
        raise ExpectedError("a mapping {CLONE: {up: 80, down: 0, n: 1}}")
    return {clone: _parse_vote(vote) for clone, vote in value.items()}


def _parse_vote(value: Value) -> Vote:
    if not isinstance(value, dict):
        raise ExpectedError("a mapping whose values are {up: 80, down: 0, n: 1}")
    return Vote(*[_parse_count(value.get(name, "0")) for name in Vote._fields])


def _parse_count(value: Value) -> int:
    if not isinstance(value, str) or not (value.isascii() and value.isdigit()) or len(value) > 15:
        raise ExpectedError("made of whole numbers from 0")
    return int(value)


def _parse_validations(value: Value) -> int | None:
    """Return the count, which is only displayed and follows from the votes; None if it is not a number."""
    return (
        int(value)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16
        else None
    )


def _parse_time(value: Value) -> datetime:
    try:
        return times.whole_milliseconds(times.parse(_parse_text(value)))
    except (ValueError, OverflowError):
        raise ExpectedError("a time like 2026-11-21T09:30:00Z") from None


def _parse_optional_time(value: Value) -> datetime | None:
    return None if isinstance(value, str) and value in _NOTHING else _parse_time(value)


def _parse_context(value: Value) -> tuple[str, ...]:
    return _parse_texts([value] if isinstance(value, str) else value)


def _parse_words(value: Value) -> tuple[str, ...]:
    if isinstance(value, str):
        return () if value in _NOTHING else _parse_texts([word.strip() for word in value.split(",")])
    return _parse_texts(value)


def words(value: Value) -> tuple[str, ...]:
    """Return the texts of a list or of a comma-separated text; () for any other value."""
    try:
        return _parse_words(value)
    except ExpectedError:
        return ()


def _parse_texts(value: Value) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ExpectedError("a list of texts")
    texts: list[str] = []
    for item in value:
        if not isinstance(item, str):
            raise ExpectedError("a list of texts without lists or mappings inside")
        if item:
            texts.append(item)
    return tuple(texts)


def _parse_moments(value: Value) -> tuple[str, ...]:
    """Return moments as lines `kind: pattern`, from a list or a mapping in any form that people write."""
    if isinstance(value, str) and value in _NOTHING:
        return ()
    lines: list[str] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            lines.append(item)
            continue
        for kind, patterns in item.items() if isinstance(item, dict) else [("", item)]:
            lines += [
                f"{kind}: {pattern}" if isinstance(pattern, str) else ""
                for pattern in (patterns if isinstance(patterns, list) else [patterns])
            ]
    found = [moment_of(line) for line in lines]
    if None in found:
        raise ExpectedError("a list such as [command: git push, file: migrations/**]")
    return tuple(dict.fromkeys(str(moment) for moment in found))


def _parse_relations(value: Value) -> tuple[Relation, ...]:
    read_kind = choice(RELATION_KINDS)
    return tuple([Relation(read_kind(item.get("kind", "")), text_in(item, "id")) for item in mappings(value)])


def _parse_conflicts(value: Value) -> tuple[Conflict, ...]:
    return tuple([Conflict(*[text_in(item, name) for name in CONFLICT_KEYS]) for item in mappings(value)])


CONFLICT_KEYS = ("field", "value", "from", "at", "kept_from", "kept_at")


def _parse_settlements(value: Value) -> tuple[Settlement, ...]:
    names = Settlement._fields
    return tuple([Settlement(*[text_in(item, name) for name in names]) for item in mappings(value)])


def mappings(value: Value) -> list[dict[str, Value]]:
    """Return a list of mappings; a single mapping needs no list. Raises ExpectedError."""
    if isinstance(value, str) and value in _NOTHING:
        return []
    items = value if isinstance(value, list) else [value]
    found = [item for item in items if isinstance(item, dict)]
    if len(found) != len(items):
        raise ExpectedError("a list of mappings")
    return found


def text_in(item: dict[str, Value], name: str) -> str:
    """Return a text in a mapping; "" if it is missing. Raises ExpectedError."""
    value = item.get(name, "")
    if not isinstance(value, str):
        raise ExpectedError(f"a list of mappings whose {name} is a text")
    return value


def _parse_importance(value: Value) -> float | None:
    if isinstance(value, str) and value in _NOTHING:
        return None
    try:
        found = float(_parse_text(value))
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise ExpectedError("a number from 0 to 1")
    return found


def _parse_flag(value: Value) -> bool:
    text = value.lower() if isinstance(value, str) else "?"
    if text not in _YES and text not in _NO and text not in _NOTHING:
        raise ExpectedError("true or false")
    return text in _YES


# The canonical lines of each field, chosen for small diffs.


def lines(key: str, value: Any, like: str = "") -> list[str]:
    """Return the lines of a key, without line ends, for a `value` in file form; `like` names a field whose format to use."""
    found = _FIELDS[like or key][1](value)
    first, *rest = [found] if isinstance(found, str) else found
    return [f"{key}: {first}" if first else f"{key}:", *rest]


def _write_prior(value: int) -> str:
    sign, size = ("-", -value) if value < 0 else ("", value)
    text = f"{size // 1000}.{size % 1000:03d}"
    return sign + (text[:-1] if text[-1] == "0" else text)


def _write_votes(value: Mapping[str, Vote]) -> str:
    found = [
        f"{scalar(clone, flow=True)}: {{up: {vote.up}, down: {vote.down}, n: {vote.n}}}"
        for clone, vote in sorted(value.items())
    ]
    return f"{{{', '.join(found)}}}"


def _write_words(value: tuple[str, ...]) -> str:
    return f"[{', '.join([scalar(word, flow=True) for word in value])}]"


def _write_moments(value: tuple[str, ...]) -> str:
    pairs = [line.partition(": ") for line in value]
    return f"[{', '.join([f'{kind}: {scalar(pattern, flow=True)}' for kind, _, pattern in pairs])}]"


def _write_relations(value: tuple[Relation, ...]) -> str:
    found = [f"{{kind: {relation.kind}, id: {scalar(relation.id, flow=True)}}}" for relation in value]
    return f"[{', '.join(found)}]"


def _write_context(value: tuple[str, ...]) -> list[str]:
    if len(value) == 1:
        return block("", value[0], 2)
    return ["", *(line for text in value for line in block("  - ", text, 4))]


def _write_conflicts(value: tuple[Conflict, ...]) -> list[str]:
    found = [""]
    for conflict in value:
        found.append(f"  - field: {scalar(conflict.field)}")
        found += block("    value: ", conflict.value, 6)
        found.append(f"    from: {scalar(conflict.source)}")
        found.append(f"    at: {scalar(conflict.at)}")
        if conflict.kept_source or conflict.kept_at:
            found.append(f"    kept_from: {scalar(conflict.kept_source)}")
            found.append(f"    kept_at: {scalar(conflict.kept_at)}")
    return found


def _write_settlements(value: tuple[Settlement, ...]) -> list[str]:
    found = [""]
    for settlement in value:
        parts = [f"{name}: {scalar(text, flow=True)}" for name, text in settlement._asdict().items()]
        found.append(f"  - {{{', '.join(parts)}}}")
    return found


def block(prefix: str, text: str, margin: int) -> list[str]:
    """Return the lines of a text after `prefix`: one, or a literal block at column `margin` if it has several lines."""
    if not _fits_block(text):
        return [prefix + scalar(text)]
    # Blanks at the start of the first line would be taken for indentation, so state it.
    header = "|" + ("2" if text[0].isspace() else "") + ("" if text[-1] == "\n" else "-")
    blanks = " " * margin
    body = text.removesuffix("\n").split("\n")
    return [prefix + header, *[blanks + line if line else "" for line in body]]


def _fits_block(text: str) -> bool:
    """Return whether a literal block can hold exactly this text: several lines, the last not blank, nothing unsafe."""
    if "\n" not in text or text.endswith("\n\n") or not is_readable(text):
        return False
    return bool(text.removesuffix("\n").rsplit("\n", 1)[-1].strip())


# The fields in canonical order, each with its reader and its writer, which returns the text after the key, or lines
# of which the first goes there.
_FIELDS: dict[str, tuple[Callable[[Value], Any], Callable[[Any], str | list[str]]]] = {
    "id": (_parse_id, scalar),
    "category": (_parse_text, scalar),
    "type": (choice(TYPES), scalar),
    "status": (choice(STATUSES), scalar),
    "confidence": (_parse_confidence, str),
    "prior": (_parse_prior, _write_prior),
    "votes": (_parse_votes, _write_votes),
    "validation_count": (_parse_validations, str),
    "last_validated": (_parse_optional_time, times.render),
    "context": (_parse_context, _write_context),
    "tags": (_parse_words, _write_words),
    "files": (_parse_words, _write_words),
    "entities": (_parse_words, _write_words),
    "when": (_parse_moments, _write_moments),
    "relations": (_parse_relations, _write_relations),
    "merged_from": (_parse_words, _write_words),
    "importance": (_parse_importance, str),
    "pinned": (_parse_flag, lambda value: "true" if value else "false"),
    "expires_at": (_parse_optional_time, times.render),
    "agent": (_parse_text, scalar),
    "author": (_parse_text, scalar),
    "source_id": (_parse_text, scalar),
    "sources": (_parse_words, _write_words),
    "created_at": (_parse_time, times.render),
    "updated_at": (_parse_time, times.render),
    "conflicts": (_parse_conflicts, _write_conflicts),
    "settled": (_parse_settlements, _write_settlements),
}
KEYS = tuple(_FIELDS)
READERS = {key: read for key, (read, _) in _FIELDS.items()}
