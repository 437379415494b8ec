"""Changing the fields of an entry that a JSON merge patch (RFC 7396) names: null takes a field's value away."""

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

_NEEDED = ("content", "category", "type", "status", "confidence", "pinned")  # which every entry has
_NONE = ("importance", "expires_at")


def patch(store: Store, name: str, changes: Mapping[str, object], digest: str = "") -> Shown:
    """Change the fields of an entry that `changes` has, as JSON values; lists are replaced whole.

    With a `digest` it is changed only while that is its file's.
    Raises ValidationError, SecretFoundError, NotFoundError, AmbiguousError, StaleError, UsageError (no field).
    """
    return edit(store, name, edit_of(changes), digest)


def edit_of(changes: Mapping[str, object]) -> Edit:
    """Return the patch as an edit. Raises ValidationError at the first field that cannot be so, UsageError without any."""
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
        elif field in _NEEDED:
            raise ValidationError(
                field, f"An entry needs a value for {field}.", "Omit the field to keep its value."
            )
        elif field in _NONE:
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


def _words(field: str, value: object) -> tuple[str, ...]:
    """Return one text or several."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise ValidationError(field, f"'{field}' must be a text, or a list of texts.")
    return tuple(found)


def _relations(field: str, value: object) -> tuple[tuple[str, str], ...]:
    """Objects with `kind` and `id`, or pairs of them."""
    found = []
    for one in value if isinstance(value, list | tuple) else [None]:
        pair = (one.get("kind"), one.get("id")) if isinstance(one, dict) else one
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != 2
            or not all(isinstance(part, str) for part in pair)
        ):
            raise ValidationError(field, f"'{field}' must be a list of objects with kind and id.")
        found.append((pair[0], pair[1]))
    return tuple(found)


def moment(field: str, value: object) -> datetime:
    """Return a time: an aware datetime, or RFC 3339. Raises ValidationError."""
    from datetime import datetime

    try:
        return value if isinstance(value, datetime) else times.parse(_text(field, value))
    except (ValueError, OverflowError):
        raise ValidationError(
            field, f"'{field}' is not a time by RFC 3339.", "2027-01-31T10:00:00Z"
        ) from None


FIELDS: dict[str, Callable[[str, object], object]] = {
    "content": _text, "category": _text, "context": _words, "confidence": _number, "status": _text, "type": _text,
    "tags": _words, "files": _words, "entities": _words, "relations": _relations, "importance": _number,
    "pinned": _flag, "when": _words, "expires_at": moment,
}  # fmt: skip
