"""The actions of the Inbox."""

# ruff: noqa: E501 - a table
from engram_tui.shell.action import Action

ACTIONS = (
    Action("back", "escape", "back", "back to the list", 1, "is_reading"),
    Action("open", "enter", "open", "read the item; on a narrow terminal it takes the list's place", 2, "can_open"),
    Action("propose", "y", "as proposed", "decide as Engram proposes", 1, "has_proposal", command="engram review"),
    Action("accept", "i", "accept", "accept it; of two versions, keep the current one", 3, "may('accept')", run="decide('accept')", command="engram review accept"),
    Action("take", "t", "take other", "take the other version, or the newer entry instead of the older", 3, "may('take')", run="decide('take')", command="engram review take"),
    Action("both", "b", "both", "both stay: both texts of a dispute in one entry, or both entries", 4, "may('both')", run="decide('both')", command="engram review both"),
    Action("merge", "m", "merge …", "choose left, right or both by paragraph and field, or edit the result", 4, "may('merge')", command="engram review merge"),
    Action("edit_first", "e", "edit …", "edit it in $EDITOR, then accept it", 5, "may_edit", command="engram edit"),
    Action("put_away", "a", "archive", "exclude it from recall; it stays in the store", 5, "may('put_away')", run="decide('put_away')", command="engram review archive"),
    Action("reject", "D", "forget", "delete it; of several the newest", 6, "may('reject')", run="decide('reject')", command="engram review reject"),
    Action("snooze", "z", "snooze", "ask again in a week", 6, "item", run="decide('snooze')", command="engram review snooze"),
    Action("mark", "space", "mark", "mark this item; decisions then apply to all marked ones", 7, "may_mark"),
    Action("mark_all", "asterisk", "mark all", "mark all that are listed, or none", 0, "may_mark"),
    Action("decide_all", "A", "all like this", "one decision for all of this kind, or for all by the same person or agent; says how many first", 7, "item", command="engram review accept --all --kind"),
    Action("filter", "slash", "filter", "list only items with these words", 8),
    Action("kind", "f", "filter by", "a kind, or who recorded it", 9, "has_any"),
    Action("no_facets", "F", "no filter", "remove all filters", 0, "is_filtered"),
    Action("sort", "s", "sort", "sort by the next order", 0),
    Action("clear", "escape", "clear", "clear the marks, then the filters", 0, "can_clear"),
    Action("difference", "d", "difference", "the whole difference as one text", 8, "item"),
    Action("next_of_group", "right_square_bracket", "next of the group", "compare with another entry of the group", 0, "has_group"),
    Action("read", "tab", "read", "into the item beside the list; esc goes back", 0, "can_open", run="open"),
    Action("next_item", "j,down,J", "next", "the next item, also while reading", 0, "item", run="move_cursor(1)"),
    Action("previous_item", "k,up,K", "previous", "the item before, also while reading", 0, "item", run="move_cursor(-1)"),
    Action("scroll_texts", "ctrl+d,pagedown", "scroll down", "while reading, scroll the texts down", 0, "is_reading", run="scroll_texts(1)"),
    Action("scroll_texts_back", "ctrl+u,pageup", "scroll up", "while reading, scroll the texts up", 0, "is_reading", run="scroll_texts(-1)"),
)  # fmt: skip
