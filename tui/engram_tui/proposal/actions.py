"""The actions of an open proposal."""

# ruff: noqa: E501 - a table
from engram_tui.shell.action import Action

ACTIONS = (
    Action("bring_in", "i", "bring them in", "end the review: what was accepted joins the lore, the rest goes back with its reasons", 2, "is_decided", command="engram review --proposal NAME"),
    Action("accept_entry", "y", "accept", "accept this entry, and go on to the next", 3, "has_entry", command="engram review --proposal NAME accept"),
    Action("reject_entry", "x", "reject …", "reject this entry with a reason, which goes back to whoever proposed it", 3, "has_entry", command="engram review --proposal NAME reject"),
    Action("accept_rest", "A", "accept the rest", "accept every entry that is undecided", 4, "has_undecided", command="engram review --proposal NAME accept --all"),
    Action("open", "enter", "read", "the whole difference as one text", 5, "has_entry", run="difference"),
    Action("difference", "d", "difference", "the whole difference as one text", 0, "has_entry"),
    Action("back", "escape", "back", "back to the Inbox; what was decided is kept", 1),
)  # fmt: skip
