"""The rules of an entry's fields, each with an error that says which field, what is wrong and what is allowed."""

from __future__ import annotations

from engram.domain.entry import ulid
from engram.domain.entry.categories import TYPES, Categories
from engram.domain.entry.lore import MAX_CONTENT, MAX_CONTEXT, RELATION_KINDS, STATUSES, Lore
from engram.domain.errors import ValidationError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_WORD = 200
MAX_ITEMS = 200
_SAY = "Say what was learned, in 1 to 4000 characters."


def check(lore: Lore, categories: Categories) -> None:
    """Raise ValidationError at the first field that breaks its rule."""
    check_content(lore.content)
    for text in lore.context:
        check_text("context", text, MAX_CONTEXT)
    if lore.category not in categories:
        categories.parse(lore.category)
    _one_of("type", lore.type, TYPES)
    _one_of("status", lore.status, STATUSES)
    for field in ("tags", "files", "entities", "sources"):
        check_words(field, getattr(lore, field))
    check_text("agent", lore.agent, MAX_WORD)
    _check_ids("id", [lore.id])
    _check_ids("merged_from", lore.merged_from)
    _check_ids("relations", [relation.id for relation in lore.relations])
    for relation in lore.relations:
        _one_of("relations", relation.kind, RELATION_KINDS)
    if lore.importance is not None:
        check_fraction("importance", lore.importance)


def check_content(content: str) -> None:
    """1 to 4000 characters of text, of which at least one can be seen."""
    if not content.strip():
        raise ValidationError("content", "The content is empty.", _SAY)
    if not shows(content):
        raise ValidationError("content", "The content has nothing that can be seen.", _SAY)
    check_text(
        "content", content, MAX_CONTENT, "Split it: `engram import` cuts long notes by their headings."
    )


def shows(content: str) -> bool:
    """Return whether any character shows; nearly always the first one is a letter."""
    if any(map(str.isalnum, content)):
        return True
    from engram.domain.text.safe_text import safe_text

    return bool(safe_text(content).strip())


def check_text(field: str, text: str, limit: int, hint: str = "") -> None:
    """At most `limit` characters, no NUL, nothing that UTF-8 cannot hold."""
    if len(text) > limit:
        raise ValidationError(
            field, f"The {field} has {len(text):,} characters; at most {limit:,} fit.", hint
        )
    if "\0" in text:
        raise ValidationError(
            field, f"The {field} contains a NUL character.", "Remove it; lore is plain text."
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            message = (
                f"The {field} contains half of a character at position {error.start} (a lone surrogate)."
            )
            raise ValidationError(field, message, "Send valid UTF-8 text.") from None


def check_words(field: str, words: Iterable[str]) -> None:
    """A list of short one-line texts, none empty."""
    found = tuple(words)
    if len(found) > MAX_ITEMS:
        raise ValidationError(field, f"{len(found):,} {field} are too many; at most {MAX_ITEMS} fit.")
    for word in found:
        if not word.strip():
            raise ValidationError(field, f"One of the {field} is empty.", "Leave it out.")
        if "\n" in word or "\r" in word:
            raise ValidationError(field, f"One of the {field} has a line break in it: {word[:40]!r}.")
        check_text(field, word, MAX_WORD)


def check_fraction(field: str, value: float) -> float:
    """Return a number from 0 to 1 (not NaN); returned as it is."""
    if not 0 <= value <= 1:
        raise ValidationError(field, f"{field} must be a number from 0.00 to 1.00, not {value}.")
    return value


def _one_of(field: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValidationError(field, f"{field} cannot be '{value}'.", f"Valid values: {', '.join(allowed)}.")


def _check_ids(field: str, ids: Iterable[str]) -> None:
    for found in ids:
        if not ulid.is_valid(found):
            raise ValidationError(
                field, f"'{found[:40]}' in {field} is not an entry id (a ULID of 26 characters)."
            )
