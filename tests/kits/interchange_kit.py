"""A row of another tool as Engram reads it."""

from __future__ import annotations

import json

from engram.adapters.files.foreign.interchange import read_rows


def row(value: object) -> dict[str, object]:
    """The fields that are read of one row."""
    _, rows, problems = read_rows(json.dumps([value]).encode(), "a.json")
    assert not problems
    return rows[0].fields
