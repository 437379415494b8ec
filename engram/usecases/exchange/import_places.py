"""Where memories are that can be imported, of which kind those at a path are, and which reader reads them."""

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
_LOOKED_AT = 20  # notes of a folder that are opened to tell whose it is
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
        path = agent_folders.resolve(place.replace("{slug}", slug), project, environment)
        if os.path.isfile(path) or (os.path.isdir(path) and _is_ours(kind, path)):
            # AGENTS.md is often a link to CLAUDE.md. Where a home folder is, is nobody's business.
            label = place.removeprefix("{project}/") if "{project}" in place else os.path.basename(path)
            found.setdefault(os.path.realpath(path), Found(kind, path, label))
    return list(found.values())


def _is_ours(kind: str, path: str) -> bool:
    """Return whether a folder is what it looks like: any project may have a folder `memory`."""
    return kind != kinds.MEMORY_FOLDER or os.path.isfile(os.path.join(path, "MEMORY.md")) or _has_days(path)


def _has_days(path: str) -> bool:
    return any(re.fullmatch(r"\d{4}-\d\d-\d\d\.md", name) for name in os.listdir(path))


def sources(
    kind: str,
    path: str,
    categories: Categories,
    problems: list[dict[str, object]],
    left: list[LeftOut],
    *,
    own: bool = False,
) -> Iterator[Source]:
    """Return what there is to import at `path`, of that kind ("": whichever it is); `own`: into a person's own store.

    Of files that give nothing, `problems` are those that cannot be read, and `left` the others.

    Raises NotFoundError, UsageError.
    """
    if not os.path.exists(path):
        raise NotFoundError(
            f"There is nothing at {path}.", "Name a folder or file of markdown, JSON or JSON Lines."
        )
    kind = kind or detect_kind(path)
    known = kinds.kind_named(kind)
    if known is None:
        names = ", ".join(one.name for one in kinds.KINDS)
        what = f"'{kind}' is not a format." if kind else f"{path} is neither markdown nor JSON."
        raise UsageError(
            what,
            f"Formats: {names}." if kind else "Import .md, .json or .jsonl files, or a folder of .md files.",
        )
    if kind == kinds.MARKDOWN:
        return markdown_sources(path, categories, problems)
    if known.is_markdown:
        from engram.usecases.exchange.import_notes import note_sources

        return note_sources(kind, path, categories, problems, left)
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder, but {kind} is a file of JSON.", "Name the file.")
    return row_sources(path, categories, problems, kind, own=own)


def detect_kind(path: str) -> str:
    """Return the kind that a path's name and place tell; `json` stands for any rows. "" for what nobody reads."""
    folders = os.path.abspath(path).split(os.sep)
    name = folders[-1].lower()
    if os.path.isdir(path):
        return _of_folder(path, folders)
    if name in RULE_FILES or name.endswith(".mdc") or _below_rules(folders[:-1]):
        return kinds.RULES
    if name == "memory.md":
        return _of_memory(folders[:-1])
    extension = os.path.splitext(name)[1]
    if extension in MARKDOWN:
        return kinds.MARKDOWN
    return "" if extension not in _ROWS else kinds.JSON


def _of_folder(path: str, folders: list[str]) -> str:
    if _below_rules(folders):
        return kinds.RULES
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return kinds.MARKDOWN
    if any(name.lower() == "memory.md" for name in names):
        return _of_memory(folders)
    return kinds.BASIC_MEMORY if _has_permalinks(path) else kinds.MARKDOWN


def _below_rules(folders: list[str]) -> bool:
    return any(tuple(folders[at : at + 2]) in _RULE_FOLDERS for at in range(len(folders)))


def _of_memory(folders: list[str]) -> str:
    """Claude Code keeps the notes of a project in `projects/<its path>/memory` of its folder."""
    return (
        kinds.CLAUDE_MEMORY
        if folders[-1:] == ["memory"] and "projects" in folders[-3:]
        else kinds.MEMORY_FOLDER
    )


def _has_permalinks(path: str) -> bool:
    """Return whether the notes of a folder have the key that basic-memory gives each."""
    for file, _ in islice(files_below(path, [], (".md",)), _LOOKED_AT):
        with contextlib.suppress(EngramError, OSError):
            head = read_file(file, MAX_BYTES)[:2000]
            if head.startswith(b"---") and b"\npermalink:" in head:
                return True
    return False
