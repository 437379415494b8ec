"""Compact schemas keep all fields."""

from __future__ import annotations

from engram.mcp.tools.schema import compact


def test_compact_drops_titles_and_descriptions_but_no_field() -> None:
    schema = {
        "$defs": {"Part": {"title": "Part", "type": "object", "properties": {"title": {"type": "string", "title": "Title"}}}},
        "title": "Whole",
        "properties": {
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Title"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}, "default": [], "description": "Parts"},
            "many": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        },
    }  # fmt: skip
    part = {"type": "object", "properties": {"title": {"type": "string"}}}
    assert compact(schema, words=False) == {
        "properties": {
            "title": {"type": "string"},
            "parts": {"type": "array", "items": part},
            "many": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        }
    }
    assert compact(schema)["properties"]["parts"]["description"] == "Parts"
