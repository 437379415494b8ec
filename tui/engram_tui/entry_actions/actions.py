"""The actions on a lore that every screen with one has alike."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from engram_tui.shell.action import Action

DEEDS = (
    Action("archive", "a", "archive", "out of recall, not out of the store", 0, "has_lore", command="engram edit --status archived"),
    Action("activate", "A", "activate", "into recall again", 0, "has_lore", command="engram edit --status active"),
    Action("pin", "p", "pin", "pin it, so that it never fades, or unpin it", 0, "has_lore", command="engram edit --pin"),
    Action("tags", "t", "tags", "add tags, or take them away with -tag", 0, "has_lore", command="engram edit --add-tag"),
    Action("category", "c", "category", "another category", 0, "has_lore", command="engram edit --category"),
    Action("forget", "d,delete", "forget", "delete it; undo brings it back", 0, "has_lore", command="engram forget"),
    Action("copy_path", "y", "copy path", "the path of its file, to the clipboard", 0, "has_lore"),
    Action("copy_name", "Y", "copy id", "its id, or its ref in this session", 0, "has_lore"),
    Action("open_file", "o", "open file", "a file that the lore is about, or its own, in the editor", 0, "has_lore"),
)  # fmt: skip
