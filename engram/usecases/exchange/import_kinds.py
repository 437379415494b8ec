"""What kind of memory lies at a path, and its sources: the one place that knows which reader reads what."""

from __future__ import annotations

import os

from engram.domain.errors import EngramError, NotFoundError, UsageError
from engram.domain.exchange import memory_kinds as kinds
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.exchange.import_sources import (
    MARKDOWN,
    MAX_BYTES,
    Source,
    markdown_sources,
    read_file,
    row_sources,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.domain.entry.categories import Categories

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


def sources(
    kind: str, path: str, categories: Categories, problems: list[dict[str, object]], *, own: bool = False
) -> Iterator[Source]:
    """What there is to import at `path`, of that kind ("": whichever it is); `own`: into a person's own store.

    Raises NotFoundError, UsageError.
    """
    if not os.path.exists(path):
        raise NotFoundError(
            f"There is nothing at {path}.", "Name a folder or file of markdown, JSON or JSON Lines."
        )
    kind = kind or told_kind(path)
    known = kinds.kind_named(kind)
    if known is None:
        names = ", ".join(one.name for one in kinds.KINDS)
        what = f"'{kind}' is not a kind of memory." if kind else f"{path} is neither markdown nor JSON."
        raise UsageError(
            what,
            f"Kinds: {names}." if kind else "Import .md, .json or .jsonl files, or a folder of .md files.",
        )
    if kind == kinds.MARKDOWN:
        return markdown_sources(path, categories, problems)
    if known.is_markdown:
        from engram.usecases.exchange.import_notes import note_sources

        return note_sources(kind, path, categories, problems)
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder, but {kind} is a file of JSON.", "Name the file.")
    return row_sources(path, categories, problems, kind, own=own)


def told_kind(path: str) -> str:
    """The kind that a path's name and place tell; `json` stands for any rows. "" for what nobody reads."""
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
    """Whether the notes of a folder have the key that basic-memory gives each."""
    looked = 0
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.lower().endswith(".md"):
                continue
            try:
                head = read_file(os.path.join(folder, name), MAX_BYTES)[:2000]
            except (EngramError, OSError):
                continue
            if head.startswith(b"---") and b"\npermalink:" in head:
                return True
            looked += 1
            if looked >= _LOOKED_AT:
                return False
    return False
