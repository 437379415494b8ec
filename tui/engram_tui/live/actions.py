"""The actions of the live screen."""

# ruff: noqa: E501 - a table
from engram_tui.entry_actions.actions import judging
from engram_tui.shell.action import Action

ACTIONS = (
    *judging(4, 5, 6),
    Action("back", "escape", "back", "back to the list", 1, "is_reading"),
    Action("read", "enter", "open", "all about this line: the entry, or the event; esc goes back", 2, "can_read"),
    Action("live_only", "f", "show only", "everything, only what was recalled, or only where something was missing", 7, "is_listing"),
    Action("live_follow", "G,end", "follow", "go to the newest event and follow", 3, "can_follow"),
    Action("next_entry", "J", "next event", "the next event", run="move_by_event(1)"),
    Action("previous_entry", "K", "previous event", "the event before", run="move_by_event(-1)"),
)  # fmt: skip
