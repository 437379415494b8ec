"""What the two versions of a disputed entry say, in the words that every front end shows."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.entry import times
from engram.domain.entry.people import plain_name
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    # An entry and its conflicts, as `lore` has them: that module uses this one.
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


# Names of a conflict's field that are no fields: one side deleted the entry, or left a file that cannot be read.
DELETED, FILE = "deleted", "file"
_LONGEST_WORDS = 80  # characters of a version
_SPANS = ((31_557_600, "year"), (2_629_800, "month"), (86_400, "day"), (3600, "hour"), (60, "minute"))


def describe_dispute(lore: _Lore, now: datetime | None = None) -> str:
    """Return one line such as `disputed: Ann says 9090 (2 days ago), Bob says 7070`; "" where nothing is disputed.

    It names the latest conflict, one of the text first. Without `now` it has dates. The names are safe to show; the words
    are of the versions and have to be quoted or neutralized as these are.
    """
    if not lore.conflicts:
        return ""
    one = max(lore.conflicts, key=lambda conflict: (conflict.field == "content", conflict.at, conflict.value))
    more = f"; and {len(lore.conflicts) - 1} more" if len(lore.conflicts) > 1 else ""
    winner, loser = names_of(one)
    when = _format_age(one.kept_at, now), _format_age(one.at, now)
    if one.field == DELETED:
        return f"disputed: {winner} changed it{when[0]}, {loser} deleted it{when[1]}{more}"
    if one.field == FILE:
        return f"disputed: the version of {loser} cannot be read{when[1]}{more}"
    of = "" if one.field == "content" else f" {plain_name(one.field)}"
    kept, lost = _differing(value_of(lore, one.field), one.value)
    says = f", {loser} says" if loser != winner else " and"
    return f"disputed{of}: {winner} says {kept}{when[0]}{says} {lost}{when[1]}{more}"


def names_of(conflict: _Conflict) -> tuple[str, str]:
    """Return plain names of who wrote the version that stands and the one that lost."""
    return plain_name(conflict.kept_source) or "somebody", plain_name(conflict.source) or "somebody else"


def difference_lines(lore: _Lore) -> tuple[str, ...]:
    """Return the word differences of all conflicts, a heading with both names before each; only lines that differ."""
    found: list[str] = []
    for one in lore.conflicts:
        winner, loser = names_of(one)
        dates = _format_age(one.kept_at, None), _format_age(one.at, None)
        if one.field == DELETED:
            found.append(f"deleted by {loser}{dates[1]}, changed by {winner}{dates[0]}")
            continue
        found.append(f"{one.field}: {{+{winner}{dates[0]}+}} stands, [-{loser}{dates[1]}-] lost")
        if one.field == FILE:
            found.append(f"[-{one.value}-]")
        else:
            found += marked_differences(one.value, value_of(lore, one.field))
    return tuple(found)


def value_of(lore: _Lore, field: str) -> str:
    """Return what an entry says in a field, in the words in which a conflict keeps it; "" for a key that is no field."""
    found = getattr(lore, field, "")
    if field.startswith("_") or callable(found):  # a key that somebody named like a method
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
    """Yield the lines of a text that differ, with the words that are gone and those that stand marked as git's word diff does."""
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


def _differing(one: str, other: str) -> tuple[str, str]:
    """Return both texts shortened to the words that differ."""
    from engram.domain.text.word_diff import word_diff

    pairs = [(mine, yours) for mine, yours in word_diff(one, other) if mine != yours]
    return _shorten(mine for mine, _ in pairs), _shorten(yours for _, yours in pairs)


def _shorten(parts: Iterable[str]) -> str:
    text = " … ".join([found for part in parts if (found := " ".join(part.split()))])
    if len(text) > _LONGEST_WORDS:
        text = text[: _LONGEST_WORDS - 1].rstrip() + "…"
    return text or "nothing"


def _format_age(at: str, now: datetime | None) -> str:
    try:
        moment = times.parse(at)
    except ValueError:
        return ""
    if now is None:
        return f" ({moment.astimezone(UTC):%Y-%m-%d})"
    seconds = (now - moment).total_seconds()
    for size, unit in _SPANS:
        if seconds >= size:
            count = int(seconds // size)
            return f" ({count} {unit}{'' if count == 1 else 's'} ago)"
    return " (just now)"
