"""`engram status`: how the store is."""

from __future__ import annotations

from engram.cli.output import counted
from engram.domain.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from engram.cli.call import Call

DESCRIPTION = "How the store is: what it holds, its index, its git, its embedding."
EXAMPLES = ("engram status", "engram status --json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments of its own."""


def run(call: Call) -> int:
    """Print it."""
    from engram.usecases.status import status

    found: Any = status(call.store)
    call.output.document(found)
    for line in _lines(found):
        call.output.line(safe_text(line))
    return 0


def _lines(found: Any) -> list[str]:
    store, index, git, embedding = found["store"], found["index"], found["git"], found["embedding"]
    lines = [f"{store['path']}  ({store['placement']})"]
    kinds = ", ".join(f"{count} {name}" for name, count in list(found["by_category"].items())[:4])
    lines.append(f"{found['lore_count']:,} lore{': ' + kinds if kinds else ''}")
    lines.append(f"index      {'ready, ' + index.get('strategy', '') if index['ok'] else index['message']}")
    if index["problems"]:
        lines.append(f"           {counted(index['problems'], 'file')} cannot be recalled: engram doctor")
    if index["waiting_for_adoption"]:
        waiting = counted(index["waiting_for_adoption"], "file has", "files have")
        lines.append(f"           {waiting} no fields yet: engram adopt")
    branch = f"{git['branch'] or 'no branch'} {(git['head'] or '')[:10] or 'without commits'}"
    lines.append(
        f"git        {git['message'] or branch}"
        + (f", {counted(git['pending'], 'change waits', 'changes wait')}" if git["pending"] else "")
        + _distance(git)
    )
    model = (
        f"{embedding['provider']}, {embedding['dimensions']} dimensions"
        if embedding["dimensions"]
        else "none: words only"
    )
    lines.append(f"embedding  {embedding['message'] or model}")
    if found["trust"]["held"]:
        waiting = counted(found["trust"]["held"], "lore waits", "lore wait")
        lines.append(f"trust      {waiting} until you accept them: engram trust list")
    lines += _settings(found["settings"])
    lines.append(f"session    {found['session']['name']}, {found['session']['surfaced']} lore surfaced")
    return lines


def _settings(settings: Any) -> list[str]:
    """What of the store's configuration does not count here."""
    lines = [f"settings   {settings['message']}"] if settings["message"] else []
    if settings["held_back"]:
        keys = ", ".join(one["key"] for one in settings["held_back"])
        lines.append(f"settings   changed elsewhere and not accepted here: {keys}: engram doctor")
    return lines


def _distance(git: Any) -> str:
    """How far this clone and what is known of its remote are apart."""
    parts = [("ahead", "to send"), ("behind", "to take in")]
    told = [f"{counted(git[key], 'commit')} {what}" for key, what in parts if git[key]]
    return "".join(f", {part}" for part in told) + (": engram sync" if told else "")
