"""Where coding agents keep memories on this machine: what `engram import` without a path finds."""

from __future__ import annotations

import os
import re

from engram.adapters.agents import folders
from engram.domain.exchange import memory_kinds as kinds
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# Places in the terms of the table of agents; {slug} is the project's path as Claude Code writes it.
_OF_A_PROJECT = (
    *[(kinds.RULES, f"{{project}}/{name}") for name in (
        "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules",
        ".github/copilot-instructions.md", ".cursor/rules", ".windsurf/rules", ".claude/rules",
    )],
    (kinds.CLAUDE_MEMORY, "{claude}/projects/{slug}/memory"),
    (kinds.MEMORY_FOLDER, "{project}/MEMORY.md"),
    (kinds.MEMORY_FOLDER, "{project}/memory"),
    (kinds.MCP_MEMORY, "{project}/memory.jsonl"),
    (kinds.EXPERIENCE, "{project}/experience.jsonl"),
)  # fmt: skip
_OF_A_PERSON = (
    (kinds.RULES, "{claude}/CLAUDE.md"),
    (kinds.RULES, "{codex}/AGENTS.md"),
    (kinds.RULES, "~/.gemini/GEMINI.md"),
    (kinds.RULES, "~/.codeium/windsurf/memories/global_rules.md"),
    (kinds.BASIC_MEMORY, "~/basic-memory"),
)


class Found(NamedTuple):
    """Memories of a kind ("": to be told by the path) at an absolute path; `label` names the place to others."""

    kind: str
    path: str
    label: str = ""


def find_memories(
    working: str, *, own: bool = False, environment: Mapping[str, str] | None = None
) -> list[Found]:
    """Memories of agents about the project of a folder; with `own` those that are a person's, for their own store."""
    from engram.adapters.git.run.layout import find_repository

    repository = find_repository(working)
    project = repository.worktree if repository is not None else working
    slug = re.sub(r"[^A-Za-z0-9]", "-", os.path.abspath(project))
    found: dict[str, Found] = {}
    for kind, place in _OF_A_PERSON if own else _OF_A_PROJECT:
        path = folders.resolve(place.replace("{slug}", slug), project, environment)
        if os.path.isfile(path) or (os.path.isdir(path) and _is_ours(kind, path)):
            # AGENTS.md is often a link to CLAUDE.md. Where a home folder is, is nobody's business.
            label = place.removeprefix("{project}/") if "{project}" in place else os.path.basename(path)
            found.setdefault(os.path.realpath(path), Found(kind, path, label))
    return list(found.values())


def _is_ours(kind: str, path: str) -> bool:
    """Whether a folder is what it looks like: any project may have a folder `memory`."""
    return kind != kinds.MEMORY_FOLDER or os.path.isfile(os.path.join(path, "MEMORY.md")) or _has_days(path)


def _has_days(path: str) -> bool:
    return any(re.fullmatch(r"\d{4}-\d\d-\d\d\.md", name) for name in os.listdir(path))
