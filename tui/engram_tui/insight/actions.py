"""The actions of the insight screen."""

# ruff: noqa: E501 - a table
from engram_tui.shell.action import Action

ACTIONS = (
    Action("back", "escape", "back", "back to the charts", 1, "is_reading"),
    Action("read", "enter", "open entry", "read one of the entries that are named here; esc goes back", 2, "can_read"),
    Action("scroll_findings", "j,down", "down", "a line down", 3, "is_listing", run="scroll_by(1)"),
    Action("scroll_back", "k,up", "up", "a line up", 4, "is_listing", run="scroll_by(-1)"),
    Action("page_on", "ctrl+d,pagedown,space", "half a page down", "down by half of what is visible", 0, "is_listing", run="scroll_page(1)"),
    Action("page_back", "ctrl+u,pageup", "half a page up", "up by half of what is visible", 0, "is_listing", run="scroll_page(-1)"),
    Action("to_top", "g,home", "top", "to the first chart", 0, "is_listing", run="scroll_edge(False)"),
    Action("to_bottom", "G,end", "bottom", "to the last chart", 0, "is_listing", run="scroll_edge(True)"),
)  # fmt: skip
