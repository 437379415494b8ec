"""The actions of the entry screen."""

from engram_tui.entry_actions.actions import ENTRY_ACTIONS, judging
from engram_tui.shell.action import Action

ACTIONS = (
    *judging(4, 5, 6),
    Action("leave_lore", "escape", "back", "to the entry before, else to the screen before", 1),
    Action("next_part", "tab", "next part", "text, facts, links, history, queries", 3, run="step(1)"),
    Action("previous_part", "shift+tab", "previous part", "the part before", run="step(-1)"),
    Action("edit", "e", "edit", "in $EDITOR, or here if none is set", 7, "selected_ids", command="engram edit"),
    Action("links", "l", "links", "the entries that it links to and that link to it; enter opens one", 8, run="open_part('links')"),
    Action("history", "v", "history", "its versions; enter shows what one changed", 9, run="open_part('versions')"),
    Action("open_line", "enter", "open", "the entry of a link, the changes of a version, the results of a query", 2, "in_lines"),
    Action("mark_version", "space", "mark version", "mark a version; enter on another one compares the two", 2, "in_history"),
    *ENTRY_ACTIONS,
    Action("next_lore", "J", "next entry", "the next entry of the list", 0, "has_list", run="walk(1)"),
    Action("previous_lore", "K", "previous entry", "the entry before in the list", 0, "has_list", run="walk(-1)"),
)  # fmt: skip
