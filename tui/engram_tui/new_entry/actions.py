"""The keys of the form for a new entry; they act in every field."""

from engram_tui.shell.action import Action

ACTIONS = (
    Action("save_new", "ctrl+s", "record", "record the entry"),
    Action("close_new", "escape", "close", "close the form; what was typed is kept until it is recorded"),
)
