"""The places of memories that can be imported, the kind of those at a path, and the reader for each kind."""

from __future__ import annotations

import contextlib
import os
import re
from itertools import islice

from engram.adapters.agents import folders as agent_folders
from engram.domain.errors import EngramError, NotFoundError, UsageError
from engram.domain.exchange import memory_kinds as kinds
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.exchange.import_sources import (
    MARKDOWN,
    MAX_BYTES,
    Source,
    files_below,
    markdown_sources,
    read_file,
    row_sources,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.domain.entry.categories import Categories
    from engram.usecases.exchange.unmapped_fields import LeftOut

RULE_FILES = (
    "claude.md", "claude.local.md", "agents.md", "gemini.md", ".cursorrules", ".windsurfrules", ".clinerules",
    "copilot-instructions.md", "global_rules.md",
)  # fmt: skip
_RULE_FOLDERS = (
    (".cursor", "rules"),
    (".windsurf", "rules"),
    (".claude", "rules"),
    (".github", "instructions"),
)
_ROWS = (".json", ".jsonl", ".ndjson")
_MOST_OPENED = 20  # notes of a folder, to detect its kind
# Places as in the table of agents; {slug} is the project's path as Claude Code writes it.
_PROJECT_PLACES = (
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
_PERSONAL_PLACES = (
    (kinds.RULES, "{claude}/CLAUDE.md"),
    (kinds.RULES, "{codex}/AGENTS.md"),
    (kinds.RULES, "~/.gemini/GEMINI.md"),
    (kinds.RULES, "~/.codeium/windsurf/memories/global_rules.md"),
    (kinds.BASIC_MEMORY, "~/basic-memory"),
)


class Found(NamedTuple):
    """Memories of a kind ("": to be detected) at an absolute path; `label` names the place without revealing a home folder."""

    kind: str
    path: str
    label: str = ""


def find_memories(
    working: str, *, own: bool = False, environment: Mapping[str, str] | None = None
) -> list[Found]:
    """Find the memories of agents about the project of a folder; with `own`, a person's, for their own store."""
    from engram.adapters.git.run.layout import find_repository

    repository = find_repository(working)
    project = repository.worktree if repository is not None else working
    slug = re.sub(r"[^A-Za-z0-9]", "-", os.path.abspath(project))
    found: dict[str, Found] = {}
    for kind, place in _PERSONAL_PLACES if own else _PROJECT_PLACES:
        path = agent_folders.resolve(place.replace("{slug}", slug), project, environment)
        if os.path.isfile(path) or (os.path.isdir(path) and _is_memory(kind, path)):
            # AGENTS.md is often a link to CLAUDE.md. The path of a home folder is private.
            label = place.removeprefix("{project}/") if "{project}" in place else os.path.basename(path)
            found.setdefault(os.path.realpath(path), Found(kind, path, label))
    return list(found.values())


def _is_memory(kind: str, path: str) -> bool:
    """Return whether a folder has memories: any project may have a folder `memory`."""
    return kind != kinds.MEMORY_FOLDER or os.path.isfile(os.path.join(path, "MEMORY.md")) or _has_days(path)


def _has_days(path: str) -> bool:
    return any(re.fullmatch(r"\d{4}-\d\d-\d\d\.md", name) for name in os.listdir(path))


def sources(
    kind: str,
    path: str,
    categories: Categories,
    problems: list[dict[str, object]],
    left_out: list[LeftOut],
    *,
    own: bool = False,
) -> Iterator[Source]:
    """Return the sources at `path`, of that kind ("": detected); `own`: for a person's own store.

    Unreadable files are added to `problems`, others without a source to `left_out`. Raises NotFoundError, UsageError.
    """
    if not os.path.exists(path):
        raise NotFoundError(
            f"There is nothing at {path}.", "Name a folder or file of markdown, JSON or JSON Lines."
        )
    kind = kind or detect_kind(path)
    known = kinds.find_kind(kind)
    if known is None:
        names = ", ".join(format_.name for format_ in kinds.KINDS)
        what = f"'{kind}' is not a format." if kind else f"{path} is neither markdown nor JSON."
        raise UsageError(
            what,
            f"Formats: {names}." if kind else "Import .md, .json or .jsonl files, or a folder of .md files.",
        )
    if kind == kinds.MARKDOWN:
        return markdown_sources(path, categories, problems)
    if known.is_markdown:
        from engram.usecases.exchange.import_notes import note_sources

        return note_sources(kind, path, categories, problems, left_out)
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder, but {kind} is a file of JSON.", "Name the file.")
    return row_sources(path, categories, problems, kind, own=own)


def detect_kind(path: str) -> str:
    """Detect a kind by a path's name and place; `json` stands for any rows, "" for files that cannot be imported."""
    folders = os.path.abspath(path).split(os.sep)
    name = folders[-1].lower()
    if os.path.isdir(path):
        return _detect_folder(path, folders)
    if name in RULE_FILES or name.endswith(".mdc") or _below_rules(folders[:-1]):
        return kinds.RULES
    if name == "memory.md":
        return _detect_memory(folders[:-1])
    extension = os.path.splitext(name)[1]
    if extension in MARKDOWN:
        return kinds.MARKDOWN
    return kinds.JSON if extension in _ROWS else ""


def _detect_folder(path: str, folders: list[str]) -> str:
    if _below_rules(folders):
        return kinds.RULES
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return kinds.MARKDOWN
    if any(name.lower() == "memory.md" for name in names):
        return _detect_memory(folders)
    return kinds.BASIC_MEMORY if _has_permalinks(path) else kinds.MARKDOWN


def _below_rules(folders: list[str]) -> bool:
    return any(tuple(folders[start : start + 2]) in _RULE_FOLDERS for start in range(len(folders)))


def _detect_memory(folders: list[str]) -> str:
    """Return the kind of a MEMORY.md: Claude Code has that of a project in `projects/<its path>/memory` of its folder."""
    return (
        kinds.CLAUDE_MEMORY
        if folders[-1:] == ["memory"] and "projects" in folders[-3:]
        else kinds.MEMORY_FOLDER
    )


def _has_permalinks(path: str) -> bool:
    """Return whether a note of a folder has the key that basic-memory gives each note."""
    for file, _ in islice(files_below(path, [], (".md",)), _MOST_OPENED):
        with contextlib.suppress(EngramError, OSError):
            head = read_file(file, MAX_BYTES)[:2000]
            if head.startswith(b"---") and b"\npermalink:" in head:
                return True
    return False
