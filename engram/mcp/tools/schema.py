"""Short schemas, since agents read them in every session and pay for each word."""

from __future__ import annotations

from typing import Any

_NAMED = ("properties", "$defs")


def compact(schema: dict[str, Any], *, words: bool = True) -> dict[str, Any]:
    """Return a JSON schema without titles and empty defaults, with its definitions inlined.

    `words=False` also drops descriptions.
    """
    definitions = schema.get("$defs", {})
    dropped = {"title", "$defs"} if words else {"title", "$defs", "description"}

    def shorten(value: Any, *, named: bool = False) -> Any:
        if isinstance(value, list):
            return [shorten(item) for item in value]
        if not isinstance(value, dict):
            return value
        if named:  # the keys are names of fields, not keywords
            return {key: shorten(item) for key, item in value.items()}
        if "$ref" in value:
            siblings = {key: item for key, item in value.items() if key != "$ref"}
            return shorten({**definitions[value["$ref"].rpartition("/")[2]], **siblings})
        return _drop_null(
            {
                key: shorten(item, named=key in _NAMED)
                for key, item in value.items()
                if key not in dropped and not (key == "default" and item in (None, "", [], {}, False))
            }
        )

    shortened: dict[str, Any] = shorten(schema)
    return shortened


def _drop_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Reduce `X or null` to X, since an optional argument can be left out."""
    choices = [item for item in schema.get("anyOf", ()) if item != {"type": "null"}]
    if len(choices) != 1 or len(choices) == len(schema["anyOf"]):
        return schema
    return {**choices[0], **{key: item for key, item in schema.items() if key != "anyOf"}}
