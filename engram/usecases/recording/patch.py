"""Edit an entry by a JSON merge patch (RFC 7396): null removes the value of a field."""

from __future__ import annotations

from engram.domain.entry import times
from engram.domain.errors import UsageError, ValidationError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.recording.edit import Edit, edit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from engram.usecases.lookup.listing import Shown
    from engram.usecases.store.store import Store

_REQUIRED = ("content", "category", "type", "status", "confidence", "pinned")
_OPTIONAL = ("importance", "expires_at")


def patch(store: Store, name: str, changes: Mapping[str, object], digest: str = "") -> Shown:
    """Change the fields of an entry named in `changes`, to JSON values; lists are replaced as a whole.

    With a `digest`, only if its file still has that.
    Raises ValidationError, SecretFoundError, NotFoundError, AmbiguousError, StaleError, UsageError (no field).
    """
    return edit(store, name, parse_patch(changes), digest)


def parse_patch(changes: Mapping[str, object]) -> Edit:
    """Return the patch as an edit. Raises ValidationError for the first invalid field, UsageError without fields."""
    if not changes:
        raise UsageError("No change was given.", f"An entry has: {', '.join(FIELDS)}.")
    wanted: dict[str, object] = {}
    unset = []
    for field, value in changes.items():
        if field not in FIELDS:
            raise ValidationError(
                field[:60], f"There is no field '{field[:60]}' to change.", f"Fields: {', '.join(FIELDS)}."
            )
        if value is not None:
            wanted[field] = FIELDS[field](field, value)
        elif field in _REQUIRED:
            raise ValidationError(
                field, f"An entry needs a value for {field}.", "Omit the field to keep its value."
            )
        elif field in _OPTIONAL:
            unset.append(field)
        else:
            wanted[field] = ()
    return Edit(**wanted, unset=tuple(unset))  # type: ignore[arg-type]


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValidationError(field, f"'{field}' must be a text.")
    return value


def _number(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValidationError(field, f"'{field}' must be a number.")
    return float(value)


def _flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValidationError(field, f"'{field}' must be true or false.")
    return value


def _texts(field: str, value: object) -> tuple[str, ...]:
    """Return a text or a list of texts as a tuple."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise ValidationError(field, f"'{field}' must be a text, or a list of texts.")
    return tuple(texts)


def _relations(field: str, value: object) -> tuple[tuple[str, str], ...]:
    """Return pairs of kind and id, given as such or as objects."""
    found = []
    for item in value if isinstance(value, list | tuple) else [None]:
        pair = (item.get("kind"), item.get("id")) if isinstance(item, dict) else item
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != 2
            or not all(isinstance(part, str) for part in pair)
        ):
            raise ValidationError(field, f"'{field}' must be a list of objects with kind and id.")
        found.append((pair[0], pair[1]))
    return tuple(found)


def _moment(field: str, value: object) -> datetime:
    """Return an aware datetime, given as such or as RFC 3339. Raises ValidationError."""
    from datetime import datetime

    try:
        return value if isinstance(value, datetime) else times.parse(_text(field, value))
    except (ValueError, OverflowError):
        raise ValidationError(
            field, f"'{field}' is not an RFC 3339 time.", "For example: 2027-01-31T10:00:00Z"
        ) from None


FIELDS: dict[str, Callable[[str, object], object]] = {
    "content": _text, "category": _text, "context": _texts, "confidence": _number, "status": _text, "type": _text,
    "tags": _texts, "files": _texts, "entities": _texts, "relations": _relations, "importance": _number,
    "pinned": _flag, "when": _texts, "expires_at": _moment,
}  # fmt: skip
