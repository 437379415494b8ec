"""Where agents and other tools keep memories: an example of each kind."""

from __future__ import annotations

from pathlib import Path

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
