"""The actions of the browse screen."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from engram_tui.entry_actions.actions import DEEDS
from engram_tui.shell.action import Action

ACTIONS = (
    Action("helpful", "h", "helpful", "this was helpful: confidence +0.08", 1, "has_lore", command="engram feedback --helpful"),
    Action("incorrect", "x", "incorrect", "this is incorrect: confidence −0.15", 2, "has_lore", command="engram feedback --incorrect"),
    Action("not_relevant", "n", "not relevant", "not relevant here: confidence stays", 3, "has_lore", command="engram feedback --not-relevant"),
    Action("back", "escape", "back", "back to the list", 4, "is_reading"),
    Action("filter", "slash", "search", "search as you type, by words and meaning", 4, "is_listing"),
    Action("open", "enter", "open", "the whole lore: its fields, links, history and why it was shown", 5, "can_open"),
    Action("read", "tab", "read", "into the text beside the list; esc goes back", 0, "can_read"),
    Action("edit", "e", "edit", "in $EDITOR, or here where none is set", 6, "has_lore", command="engram edit"),
    Action("mark", "space", "mark", "mark this lore: what follows is about all that are marked", 7, "can_read"),
    Action("mark_all", "asterisk", "mark all", "mark all that are listed, or none", 0, "is_listing"),
    Action("clear", "escape", "clear", "let go of marks, then of the search, then of the filters", 0, "can_clear"),
    *DEEDS,
    Action("facet", "f", "filter by", "scope, category, status, type, tag, confidence, agent, age", 8, "is_listing"),
    Action("no_facets", "F", "no filter", "take all filters away", 0, "is_filtered"),
    Action("sort", "s", "sort", "sort by the next order", 9),
    Action("sort_back", "S", "sort back", "sort by the order before"),
    Action("next_lore", "J", "next lore", "the next lore, while reading too"),
    Action("previous_lore", "K", "previous lore", "the lore before, while reading too"),
)  # fmt: skip
# While one types a search; they come before any letter.
TYPING = (
    Action("keep_filter", "enter,tab", "to the results", "to the results"),
    Action("clear_filter", "escape", "clear", "clear the search"),
    Action("next_result", "down,ctrl+n", "next result", "the next result", run="move(1)"),
    Action("previous_result", "up", "previous result", "the result before", run="move(-1)"),
)
