"""The actions of the graph screen."""

# ruff: noqa: E501 - a table
from engram_tui.shell.action import Action

ACTIONS = (
    Action("back", "escape,backspace", "back", "from an entry to the drawing; from an entity to the one before", 1, "can_go_back"),
    Action("read", "enter", "open", "draw the neighbourhood of an entity; read an entry", 2, "can_read"),
    Action("graph_find", "slash", "find", "find an entity by its name, and draw its neighbourhood", 3, command="engram graph"),
    Action("graph_deeper", "greater_than_sign", "deeper", "one step deeper; after three steps one again", 4, "has_start", command="engram graph --depth"),
    Action("graph_whole", "w", "all", "back to the most important entities of all", 5, "has_start"),
    Action("graph_into", "right,tab", "beside", "into the text beside the drawing", 6, "is_listing"),
)  # fmt: skip
