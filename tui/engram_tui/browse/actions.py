"""The actions of the browse screen."""

from engram_tui.entry_actions.actions import ENTRY_ACTIONS, judging
from engram_tui.shell.action import Action

ACTIONS = (
    *judging(3, 4, 5),
    Action("back", "escape", "back", "back to the list", 1, "is_reading"),
    Action("filter", "slash", "search", "search as you type, by words and meaning", 2, "is_listing"),
    Action("open", "enter", "open", "the whole entry: its fields, links, history and queries", 1, "can_open"),
    Action("read", "tab", "read", "into the text beside the list; esc goes back", 0, "can_read"),
    Action("edit", "e", "edit", "in $EDITOR, or here if none is set", 6, "selected_ids", command="engram edit"),
    Action("mark", "space", "mark", "mark this entry; actions then apply to all marked ones", 7, "can_read"),
    Action("mark_all", "asterisk", "mark all", "mark all that are listed, or none", 0, "is_listing"),
    Action("clear", "escape", "clear", "clear the marks, then the search, then the filters", 0, "can_clear"),
    *ENTRY_ACTIONS,
    Action("facet", "f", "filter by", "scope, category, status, type, tag, confidence, agent, age", 8, "is_listing"),
    Action("no_facets", "F", "no filter", "remove all filters", 0, "is_filtered"),
    Action("sort", "s", "sort", "sort by the next order", 9),
    Action("next_lore", "J", "next entry", "the next entry, also while reading", run="move_cursor(1)"),
    Action("previous_lore", "K", "previous entry", "the entry before, also while reading", run="move_cursor(-1)"),
)  # fmt: skip
