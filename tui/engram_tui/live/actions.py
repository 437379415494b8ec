"""The actions of the live screen."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from engram_tui.entry_actions.actions import judging
from engram_tui.shell.action import Action

ACTIONS = (
    *judging(1, 2, 3),
    Action("back", "escape", "back", "back to the list", 4, "is_reading"),
    Action("read", "enter", "open", "all about this line: the entry, or the event; esc goes back", 5, "can_read"),
    Action("live_only", "f", "show only", "everything, only what was recalled, or only where something was missing", 6, "is_listing"),
    Action("live_follow", "G,end", "follow", "go to the newest event and follow", 7, "can_follow"),
    Action("next_entry", "J", "next event", "the next event"),
    Action("previous_entry", "K", "previous event", "the event before"),
)  # fmt: skip
