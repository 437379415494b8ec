"""The actions of the review screen."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from engram_tui.shell.action import Action

ACTIONS = (
    Action("accept", "a", "accept", "accept it; its effect stands under the texts", 0, "has_item", command="engram review accept"),
    Action("edit_first", "e", "edit first", "edit it in $EDITOR, then accept it", 0, "has_item", command="engram edit"),
    Action("reject", "r", "reject", "delete it; of several the newest", 0, "has_item", command="engram review reject"),
    Action("supersede", "s", "supersede", "the newest replaces the others", 0, "may_supersede", command="engram review supersede"),
    Action("merge", "m", "merge …", "choose left, right or both by paragraph and field, or edit the result", 0, "may_merge", command="engram review merge"),
    Action("take", "t", "take the other", "the other version replaces the current one", 0, "may_take", command="engram review take"),
    Action("both", "b", "both", "both texts, one after the other, in one entry", 0, "may_merge", command="engram review accept --content"),
    Action("put_away", "v", "archive", "exclude it from recall; it stays in the store", 0, "may_archive", command="engram review archive"),
    Action("snooze", "z", "snooze", "ask again in a week", 0, "has_item", command="engram review snooze"),
    Action("later", "l", "later", "to the end of the queue, without a decision", 1, "has_item"),
    Action("decide_all", "A", "all of these", "one decision for all of this kind or agent; says how many first", 2, "has_item", command="engram review accept --all --kind"),
    Action("difference", "d,enter", "difference", "the whole difference as one text", 3, "has_item"),
    Action("next_item", "j,down", "next", "the next item, without a decision", 4, "has_item"),
    Action("previous_item", "k,up", "back", "the item before", 0, "has_item"),
    Action("next_of_group", "n", "next of the group", "compare with another entry of the group", 0, "has_item"),
    Action("kind", "f", "go to a kind", "the first item of a kind", 5, "has_item"),
    Action("scroll_texts", "ctrl+d,pagedown", "scroll down", "scroll both texts down", 0, "has_item", run="scroll_texts(1)"),
    Action("scroll_texts_back", "ctrl+u,pageup", "scroll up", "scroll both texts up", 0, "has_item", run="scroll_texts(-1)"),
)  # fmt: skip
