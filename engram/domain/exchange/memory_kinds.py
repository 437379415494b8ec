"""The kinds of memories that can be imported: the formats of other tools and agents, by name."""

from __future__ import annotations

from engram.domain.typed import NamedTuple

MARKDOWN, JSON = "markdown", "json"
RULES, CLAUDE_MEMORY, MEMORY_FOLDER = "rules", "claude-memory", "memory-folder"
BASIC_MEMORY, MCP_MEMORY, GENTLEMAN = "basic-memory", "mcp-memory", "gentleman-engram"
RECALL, MEM0, EXPERIENCE, FACTS = "recall", "mem0", "experience", "facts"


class Kind(NamedTuple):
    """A kind: its name, its description, whether it is markdown (else rows of JSON), the agent that writes it ("": unknown)."""

    name: str
    what: str
    is_markdown: bool
    agent: str = ""


KINDS = (
    Kind(MARKDOWN, "any markdown file, or a folder of them", True),
    Kind(JSON, "any JSON or JSON Lines with texts in it, also Engram's own export", False),
    Kind(
        RULES, "`CLAUDE.md`, `AGENTS.md`, `GEMINI.md`, `.cursor/rules`, `.windsurfrules` and the like", True
    ),
    Kind(CLAUDE_MEMORY, "the folder of notes that Claude Code keeps for a project", True, "claude-code"),
    Kind(MEMORY_FOLDER, "a `MEMORY.md`, or a folder with one and notes by day", True),
    Kind(BASIC_MEMORY, "a folder of basic-memory", True),
    Kind(MCP_MEMORY, "the file of the MCP reference memory server: entities and relations", False),
    Kind(GENTLEMAN, "the output of `engram export` of Gentleman-Programming/engram", False),
    Kind(RECALL, "the output of `recall store export`", False),
    Kind(MEM0, "memories of mem0, as its API answers", False),
    Kind(
        FACTS,
        "`entities.json`, `facts_schema.json`: entities and facts of a memory for several agents",
        False,
    ),
    Kind(EXPERIENCE, "`experience.jsonl`: tasks, outcomes, lessons", False),
)
_BY_NAME = {kind.name: kind for kind in KINDS}


def find_kind(name: str) -> Kind | None:
    """Return the kind of that name, or None."""
    return _BY_NAME.get(name)
