"""The actions of the live screen."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from engram_tui.shell.action import Action

ACTIONS = (
    Action("helpful", "h", "helpful", "this was helpful: confidence +0.08", 1, "has_lore", command="engram feedback --helpful"),
    Action("incorrect", "x", "incorrect", "this is incorrect: confidence −0.15", 2, "has_lore", command="engram feedback --incorrect"),
    Action("not_relevant", "n", "not relevant", "not relevant here: confidence stays", 3, "has_lore", command="engram feedback --not-relevant"),
    Action("back", "escape", "back", "back to the list", 4, "is_reading"),
    Action("read", "enter", "open", "all about this line: the lore, or the question whole; esc goes back", 5, "can_read"),
    Action("live_only", "f", "show only", "everything, only what was recalled, or only where something was missing", 6, "is_listing"),
    Action("live_follow", "F", "follow", "to the newest, and follow it", 7, "can_follow"),
    Action("next_entry", "J", "next entry", "the next thing that was done"),
    Action("previous_entry", "K", "previous entry", "the one before"),
)  # fmt: skip
