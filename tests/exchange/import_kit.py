"""Input for tests of imports: an example of each kind of memory, and a row of another tool."""

from __future__ import annotations

import json
from pathlib import Path

from engram.adapters.files.foreign.interchange import read_rows

MEMORIES = Path(__file__).parents[1] / "data/agents/memories"
AUTO = MEMORIES / "projects/-work-shop/memory"
PLACES = {
    "rules": MEMORIES / "CLAUDE.md",
    "claude-memory": AUTO,
    "memory-folder": MEMORIES / "openclaw",
    "basic-memory": MEMORIES / "basic-memory",
    "mcp-memory": MEMORIES / "memory.jsonl",
    "gentleman-engram": MEMORIES / "engram-export.json",
    "recall": MEMORIES / "recall.json",
    "mem0": MEMORIES / "mem0.json",
    "experience": MEMORIES / "experience.jsonl",
    "facts": MEMORIES / "facts_schema.json",
}


def row(value: object) -> dict[str, object]:
    """Return the fields read from one row."""
    _, rows, problems = read_rows(json.dumps([value]).encode(), "a.json")
    assert not problems
    return rows[0].fields
