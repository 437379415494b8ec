"""The actions of the settings screen."""

from engram_tui.shell.action import Action

ACTIONS = (
    Action("change", "enter", "change", "set it in your own file", 2, "can_change", command="engram config --user"),
    Action("unset", "delete,backspace", "unset", "remove it from your own file", 3, "is_own"),
    Action("leave_settings", "escape", "back", "to the screen before", 1),
    Action("copy_file", "L", "copy path", "copy the path of your own file to the clipboard"),
)  # fmt: skip
