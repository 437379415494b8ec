"""Describe the two versions of a disputed entry, as all front ends show them."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.entry import times
from engram.domain.entry.people import plain_name
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    # An entry and its conflicts as in `lore`, which imports this module.
    class _Conflict(Protocol):
        @property
        def field(self) -> str: ...
        @property
        def value(self) -> str: ...
        @property
        def source(self) -> str: ...
        @property
        def at(self) -> str: ...
        @property
        def kept_source(self) -> str: ...
        @property
        def kept_at(self) -> str: ...

    class _Lore(Protocol):
        @property
        def conflicts(self) -> Sequence[_Conflict]: ...
        @property
        def prior(self) -> int: ...


# A conflict's `field` if it is about a whole file: one side deleted it, or left it unreadable.
DELETED, FILE = "deleted", "file"
_MAX_LENGTH = 80  # characters of a version shown
_UNITS = ((31_557_600, "year"), (2_629_800, "month"), (86_400, "day"), (3600, "hour"), (60, "minute"))


def describe_dispute(lore: _Lore, now: datetime | None = None) -> str:
    """Return one line such as `disputed: Ann says 9090 (2 days ago), Bob says 7070`; "" if nothing is disputed.

    It shows the latest conflict, preferably one of the text. Without `now` it has dates. The names are safe to show; the
    words come from the versions and must be quoted or neutralized as these are.
    """
    if not lore.conflicts:
        return ""
    latest = max(lore.conflicts, key=lambda one: (one.field == "content", one.at, one.value))
    more = f"; and {len(lore.conflicts) - 1} more" if len(lore.conflicts) > 1 else ""
    winner, loser = names_of(latest)
    ages = _format_age(latest.kept_at, now), _format_age(latest.at, now)
    if latest.field == DELETED:
        return f"disputed: {winner} changed it{ages[0]}, {loser} deleted it{ages[1]}{more}"
    if latest.field == FILE:
        return f"disputed: the version of {loser} cannot be read{ages[1]}{more}"
    field = "" if latest.field == "content" else f" {plain_name(latest.field)}"
    kept_words, lost_words = _differing_words(value_of(lore, latest.field), latest.value)
    says = f", {loser} says" if loser != winner else " and"
    return f"disputed{field}: {winner} says {kept_words}{ages[0]}{says} {lost_words}{ages[1]}{more}"


def names_of(conflict: _Conflict) -> tuple[str, str]:
    """Return the plain names of the authors of the version kept and the one that lost."""
    return plain_name(conflict.kept_source) or "somebody", plain_name(conflict.source) or "somebody else"


def difference_lines(lore: _Lore) -> tuple[str, ...]:
    """Return the word differences of all conflicts, each below a heading with both names; only lines that differ."""
    found: list[str] = []
    for conflict in lore.conflicts:
        winner, loser = names_of(conflict)
        dates = _format_age(conflict.kept_at, None), _format_age(conflict.at, None)
        if conflict.field == DELETED:
            found.append(f"deleted by {loser}{dates[1]}, changed by {winner}{dates[0]}")
            continue
        found.append(f"{conflict.field}: {{+{winner}{dates[0]}+}} stands, [-{loser}{dates[1]}-] lost")
        if conflict.field == FILE:
            found.append(f"[-{conflict.value}-]")
        else:
            found += marked_differences(conflict.value, value_of(lore, conflict.field))
    return tuple(found)


def value_of(lore: _Lore, field: str) -> str:
    """Return a field's value as a conflict stores it; "" for a key that is not a field."""
    found = getattr(lore, field, "")
    if field.startswith("_") or callable(found):  # a key with the name of a method
        return ""
    if isinstance(found, tuple):
        return "\n".join([" ".join(item) if isinstance(item, tuple) else str(item) for item in found])
    if isinstance(found, datetime):
        return times.render(found)
    if isinstance(found, bool):
        return "true" if found else "false"
    if field == "prior":
        return f"{lore.prior / 1000:.3f}"
    return "" if found is None else str(found)


def marked_differences(lost: str, kept: str) -> Iterator[str]:
    """Yield the lines that differ, with lost and kept words marked as in git's word diff."""
    from engram.domain.text.word_diff import word_diff

    text = ""
    for old, new in word_diff(lost, kept):
        if old == new:
            text += old
            continue
        text += _each_line(old, "[-", "-]") + _each_line(new, "{+", "+}")
    for line in text.split("\n"):
        if "[-" in line or "{+" in line:
            yield line


def _each_line(text: str, opening: str, closing: str) -> str:
    return "\n".join([f"{opening}{line}{closing}" if line else "" for line in text.split("\n")])


def _differing_words(one: str, other: str) -> tuple[str, str]:
    """Return both texts shortened to the words that differ."""
    from engram.domain.text.word_diff import word_diff

    pairs = [(old, new) for old, new in word_diff(one, other) if old != new]
    return _shorten(old for old, _ in pairs), _shorten(new for _, new in pairs)


def _shorten(parts: Iterable[str]) -> str:
    text = " … ".join([found for part in parts if (found := " ".join(part.split()))])
    if len(text) > _MAX_LENGTH:
        text = text[: _MAX_LENGTH - 1].rstrip() + "…"
    return text or "nothing"


def _format_age(at: str, now: datetime | None) -> str:
    try:
        moment = times.parse(at)
    except ValueError:
        return ""
    if now is None:
        return f" ({moment.astimezone(UTC):%Y-%m-%d})"
    seconds = (now - moment).total_seconds()
    for size, unit in _UNITS:
        if seconds >= size:
            count = int(seconds // size)
            return f" ({count} {unit}{'' if count == 1 else 's'} ago)"
    return " (just now)"
