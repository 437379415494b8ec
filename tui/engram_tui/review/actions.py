"""The actions of the review screen."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from engram_tui.shell.action import Action

ACTIONS = (
    Action("accept", "a", "accept", "let it in, or say that all is well: what that means stands under the texts", 0, "has_item", command="engram review accept"),
    Action("edit_first", "e", "edit first", "change it in $EDITOR, then accept it", 0, "has_item", command="engram edit"),
    Action("reject", "r", "reject", "forget it; of several the newest", 0, "has_item", command="engram review reject"),
    Action("supersede", "s", "supersede", "the newest takes the place of the others", 0, "may_supersede", command="engram review supersede"),
    Action("merge", "m", "merge …", "left, right or both, by paragraph and field, or in words of your own", 0, "may_merge", command="engram review merge"),
    Action("take", "t", "take the other", "the other version takes the place of what stands", 0, "may_take", command="engram review take"),
    Action("both", "b", "both", "both texts, one after the other, in one lore", 0, "may_join", command="engram review accept --content"),
    Action("put_away", "v", "archive", "keep it out of recall, not out of the store", 0, "may_archive", command="engram review archive"),
    Action("snooze", "z", "snooze", "ask again in a week", 0, "has_item", command="engram review snooze"),
    Action("later", "l", "later", "to the end of the queue; nothing is decided", 1, "has_item"),
    Action("decide_all", "A", "all of these", "one decision for all of this kind or agent; says how many first", 2, "has_item", command="engram review accept --all --kind"),
    Action("difference", "d,enter", "difference", "the whole difference as one text", 3, "has_item"),
    Action("next_item", "j,down", "next", "the next item; nothing is decided", 4, "has_item"),
    Action("previous_item", "k,up", "back", "the item before", 0, "has_item"),
    Action("next_of_group", "n", "next of the group", "compare with another lore of the group", 0, "has_item"),
    Action("kind", "f", "go to a kind", "the first item of a kind", 5, "has_item"),
    Action("scroll_texts", "ctrl+d,pagedown", "scroll down", "scroll both texts down", 0, "has_item", run="scroll_texts(1)"),
    Action("scroll_texts_back", "ctrl+u,pageup", "scroll up", "scroll both texts up", 0, "has_item", run="scroll_texts(-1)"),
)  # fmt: skip
