"""How lore gets into an empty store: what the list says there, and the commands to copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram_tui.shell.picker import Picker

WAYS_IN = (
    (
        'engram record "Queue consumers must be idempotent." --category PATTERN_OUTCOME',
        "one lore from you; N writes one here",
    ),
    ("engram import FOLDER", "notes that you already have"),
    ("engram connect claude-code", "an agent records and recalls by itself; engram agents lists them"),
)


def empty_store() -> tuple[str, ...]:
    """How lore gets in."""
    ways = [line for command, what in WAYS_IN for line in (command, f"    {what}")]
    return (
        "No lore here yet. It gets in like this:",
        "",
        *ways,
        "",
        "enter copies a command, N writes a lore, q leaves.",
    )


def picker() -> Picker:
    """A question for one of the commands."""
    from engram_tui.shell.picker import Choice, Picker

    ways = [Choice(command, command.split(" ")[1], after=what) for command, what in WAYS_IN]
    return Picker("How lore gets in: enter copies the command", ways)
