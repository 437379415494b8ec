"""The actions that every screen has, and those of every list."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from typing import TYPE_CHECKING

from engram_tui.shell.action import Action

if TYPE_CHECKING:
    from collections.abc import Mapping

ACTIONS = (
    Action("show_keys", "question_mark", "keys", "every action here; type to find one, enter runs it", 98),
    Action("palette", "colon,ctrl+p", "palette", "every action of the app, by name"),
    Action("new_lore", "N", "new entry", "write an entry; shows similar ones while you type", command="engram record"),
    Action("undo", "u,ctrl+z", "undo", "undo what was done last", command="engram undo"),
    Action("redo", "ctrl+r,ctrl+y", "redo", "redo what was undone", command="engram redo"),
    Action("undo_list", "U", "undo one of …", "choose what to undo, the newest first", command="engram undo"),
    Action("repeat", "full_stop", "repeat", "repeat the last change on what is selected now"),
    Action("refresh", "r,f5", "reload", "read every file again", command="engram index"),
    Action("log", "at", "command log", "the git and Engram commands that ran"),
    Action("theme", "T", "next theme", "dark, light, high-contrast, colour-blind"),
    Action("settings", "comma", "settings", "every setting and where it comes from; change it", command="engram config"),
    Action("go_1", "1", "Browse", "browse, search, read and judge entries", run="go('browse')"),
    Action("go_2", "2", "Inbox", "what waits for a person", run="go('inbox')"),
    Action("go_3", "3", "Consolidate", "a plan to tidy the store", run="go('consolidate')"),
    Action("go_4", "4", "Sync", "what came in and what waits to be pushed", run="go('sync')"),
    Action("go_5", "5", "Insight", "how many entries there are, and how good they are", run="go('insight')"),
    Action("go_6", "6", "Live", "what agents asked and got", run="go('live')"),
    Action("go_7", "7", "Graph", "what entries are about, and how that is related", run="go('graph')"),
    Action("leave", "q,ctrl+q", "quit", "quit; pending changes are committed", 99),
)  # fmt: skip
# They run on the list itself.
MOVES = (
    Action("list_down", "j,down", "down", "the next line", run="move(1)", target="EntryList"),
    Action("list_up", "k,up", "up", "the line before", run="move(-1)", target="EntryList"),
    Action("half_page_down", "ctrl+d,pagedown", "half a page down", "down by half of what is visible", run="half_page(1)", target="EntryList"),
    Action("half_page_up", "ctrl+u,pageup", "half a page up", "up by half of what is visible", run="half_page(-1)", target="EntryList"),
    Action("list_top", "g,home", "top", "to the first line", run="edge(False)", target="EntryList"),
    Action("list_bottom", "G,end", "bottom", "to the last line", run="edge(True)", target="EntryList"),
)  # fmt: skip


def move_keys(configured: Mapping[str, str]) -> frozenset[str]:
    """Return the keys that only move in a list; `configured` maps names of actions to keys."""
    all_keys = (configured.get(action.name, action.keys) for action in MOVES)
    return frozenset(key.strip() for keys in all_keys for key in keys.split(","))
