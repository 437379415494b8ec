"""Schemas as short as they can be: an agent reads them in every session, and pays for each word."""

from __future__ import annotations

from typing import Any

_NAMED = ("properties", "$defs")


def compact(schema: dict[str, Any], *, words: bool = True) -> dict[str, Any]:
    """The same JSON schema without titles and empty defaults, with definitions where they are used.

    `words=False` leaves descriptions out, too.
    """
    definitions = schema.get("$defs", {})
    left_out = {"title", "$defs"} if words else {"title", "$defs", "description"}

    def shorten(value: Any, *, named: bool = False) -> Any:
        if isinstance(value, list):
            return [shorten(one) for one in value]
        if not isinstance(value, dict):
            return value
        if named:  # keys that are names of fields, not words of the schema
            return {key: shorten(one) for key, one in value.items()}
        if "$ref" in value:
            return shorten({**definitions[value["$ref"].rpartition("/")[2]], **_without_ref(value)})
        kept = {key: one for key, one in value.items() if key not in left_out and not _says_nothing(key, one)}
        return _unless_null({key: shorten(one, named=key in _NAMED) for key, one in kept.items()})

    shortened: dict[str, Any] = shorten(schema)
    return shortened


def _without_ref(value: dict[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in value.items() if key != "$ref"}


def _says_nothing(key: str, value: Any) -> bool:
    return key == "default" and value in (None, "", [], {}, False)


def _unless_null(schema: dict[str, Any]) -> dict[str, Any]:
    """`X or null` as X: whoever does not want an optional argument leaves it out."""
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) != 1 or len(choices) == len(schema["anyOf"]):
        return schema
    return {**choices[0], **{key: one for key, one in schema.items() if key != "anyOf"}}
