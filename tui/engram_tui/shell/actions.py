"""The actions that every screen has."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from typing import TYPE_CHECKING

from engram_tui.shell.action import Action

if TYPE_CHECKING:
    from collections.abc import Mapping

ACTIONS = (
    Action("show_keys", "question_mark", "all keys", "every action here; type to find one, enter runs it", 98),
    Action("palette", "colon,ctrl+p", "palette", "every action of the app, by name"),
    Action("new_lore", "N", "new lore", "write one; it says what is known already while you type", command="engram record"),
    Action("undo", "u,ctrl+z", "undo", "take back what was done last", command="engram undo"),
    Action("redo", "U,ctrl+y", "redo", "bring back what was taken back", command="engram redo"),
    Action("repeat", "full_stop", "repeat", "the last change once more, on what is chosen now"),
    Action("refresh", "r,f5", "look again", "read every file again", command="engram index"),
    Action("log", "at", "command log", "the git and Engram commands that ran"),
    Action("theme", "T", "next theme", "dark, light, high-contrast, colour-blind"),
    Action("settings", "comma", "settings", "what is set, where it comes from; change it", command="engram config"),
    Action("go_1", "1", "Browse", "browse, search, read and judge lore", run="go('browse')", when="screen:browse"),
    Action("go_2", "2", "Review", "what waits for a person", run="go('review')", when="screen:review"),
    Action("go_3", "3", "Consolidate", "a plan to tidy the store", run="go('consolidate')", when="screen:consolidate"),
    Action("go_4", "4", "Sync", "what came in and what waits to go out", run="go('sync')", when="screen:sync"),
    Action("go_5", "5", "Insight", "how much lore, and how good", run="go('insight')", when="screen:insight"),
    Action("go_6", "6", "Live", "what agents asked and got", run="go('live')", when="screen:live"),
    Action("go_7", "7", "Graph", "what lore are about, and how that is related", run="go('graph')", when="screen:graph"),
    Action("leave", "q,ctrl+q", "quit", "leave; what waits for git is committed", 99),
)  # fmt: skip
# Of every list: they act on the list itself, wherever it is.
MOVES = (
    Action("list_down", "j,down", "down", "the next line", run="move(1)", target="LoreList"),
    Action("list_up", "k,up", "up", "the line before", run="move(-1)", target="LoreList"),
    Action("half_page_down", "ctrl+d,pagedown", "half a page down", "down by half of what is seen", run="half_page(1)", target="LoreList"),
    Action("half_page_up", "ctrl+u,pageup", "half a page up", "up by half of what is seen", run="half_page(-1)", target="LoreList"),
    Action("list_top", "g,home", "top", "to the first line", run="edge(False)", target="LoreList"),
    Action("list_bottom", "G,end", "bottom", "to the last line", run="edge(True)", target="LoreList"),
)  # fmt: skip


def keys_of_moves(own: Mapping[str, str]) -> frozenset[str]:
    """The keys that only move in a list, with a person's own ones."""
    given = (own.get(action.name, action.keys) for action in MOVES)
    return frozenset(key.strip() for keys in given for key in keys.split(","))
