"""The actions of the screen of one lore."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from engram_tui.entry_actions.actions import DEEDS
from engram_tui.shell.action import Action

ACTIONS = (
    Action("helpful", "h", "helpful", "this was helpful: confidence +0.08", 1, "has_lore", command="engram feedback --helpful"),
    Action("incorrect", "x", "incorrect", "this is incorrect: confidence −0.15", 2, "has_lore", command="engram feedback --incorrect"),
    Action("not_relevant", "n", "not relevant", "not relevant here: confidence stays", 6, "has_lore", command="engram feedback --not-relevant"),
    Action("leave_lore", "escape", "back", "to the lore before, else to the screen before", 4),
    Action("next_part", "tab", "next part", "text, facts, links, history, queries", 3),
    Action("previous_part", "shift+tab", "previous part", "the part before"),
    Action("edit", "e", "edit", "in $EDITOR, or here where none is set", 7, "has_lore", command="engram edit"),
    Action("links", "l", "links", "to what it names and what names it; enter opens one", 8),
    Action("history", "v", "history", "to its versions; enter shows what one changed", 9),
    Action("open_line", "enter", "open", "the lore of a link, what a version changed, the results of a query", 2, "in_lines"),
    Action("mark_version", "space", "mark version", "mark a version; enter on another one compares the two", 2, "in_history"),
    *DEEDS,
    Action("next_lore", "J", "next lore", "the next lore of the list", 0, "has_around"),
    Action("previous_lore", "K", "previous lore", "the lore before in the list", 0, "has_around"),
)  # fmt: skip
