"""The text of `engram --help`: the commands by purpose. It imports none of them."""

from __future__ import annotations

from textwrap import wrap

from engram.cli.registry import COMMANDS, find
from engram.domain.errors import UsageError

GROUPS = {
    "recall and record": "init record query search feedback show list edit forget session",
    "maintain": "review consolidate maintain worth evolve import extract export link adopt check",
    "what happened": "log diff blame bisect undo redo restore live insight metrics",
    "share": "sync propose clone remote scope promote move trust team",
    "explore": "explore sql aggregate skill graph",
    "agents and programs": "agents connect disconnect hook mcp serve",
    "store and program": "status doctor reindex config tui demo completion",
}
# The names that other programs have for a command, to suggest ours.
_FOREIGN_NAMES = {
    "record": "add save store new note create write put learn",
    "query": "ask find get grep lookup retrieve",
    "show": "view cat open read",
    "edit": "update change set",
    "forget": "rm delete remove del",
    "list": "ls all",
    "log": "history",
    "sync": "pull push fetch",
    "connect": "setup install",
    "config": "settings",
    "consolidate": "archive dedupe merge tidy",
    "edit --pin": "pin",
    "edit --add-tag": "tag",
    "review": "accept approve inbox reject",
    "status": "info stats",
    "team handoff": "handoff handover",
    "team observe": "observe",
    "trust": "hold quarantine",
    "--version": "version",
}
_START = """usage: engram COMMAND [options]   (engram COMMAND --help says more)
       engram                     opens the app; in a pipe it lists lore

Shared, persistent memory for AI coding agents and people, as markdown in git.
"""
_END = """
examples:
  engram record "Queue consumers must be idempotent" --category pattern
  engram query "implementing message consumers"
  engram feedback --helpful L1

Options of every command: --json, --store PATH, --scope NAME, --yes, --no-input
Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 needs a person,
            5 remote failed, 130 interrupted. The version: engram --version"""
_INDENT = 15


def overview(width: int) -> str:
    """Return the help of `engram` itself, wrapped at `width` columns."""
    lines = [_START]
    for title, names in GROUPS.items():
        lines += [f"{title}:", *(line for name in names.split() for line in _format_lines(name, width)), ""]
    return "\n".join(lines).rstrip("\n") + "\n" + _END


def unknown_command(name: str) -> UsageError:
    """Return the error for a command that does not exist, with the nearest one that does."""
    import difflib

    near = next((known for known, words in _FOREIGN_NAMES.items() if name.lower() in words.split()), "")
    names = [command.name for command in COMMANDS]
    near = near or next(iter(difflib.get_close_matches(name, names, 1, 0.65)), "")
    hint = f"Did you mean `engram {near}`?" if near else "`engram --help` lists the commands."
    return UsageError(f"There is no command '{name}'.", hint)


def _format_lines(name: str, width: int) -> list[str]:
    command = find(name)
    assert command is not None
    summary = command.summary + (f" (also: {', '.join(command.aliases)})" if command.aliases else "")
    head = f"  {name:<{_INDENT - 2}}"
    return wrap(summary, max(width, _INDENT + 20), initial_indent=head, subsequent_indent=" " * _INDENT)
