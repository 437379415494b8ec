"""The actions of the consolidate screen."""

# ruff: noqa: E501 - a table
from engram_tui.shell.action import Action

ACTIONS = (
    Action("toggle_step", "space", "select", "select this step or not; on a kind, all of its steps", 2, "has_step", command="engram consolidate --skip"),
    Action("apply_plan", "y", "apply", "apply the selected steps as one commit; u undoes it", 3, "has_selected", command="engram consolidate --apply"),
    Action("close_result", "escape", "back", "back to the plan", 1, "is_reading", run="back"),
    Action("open_result", "enter", "open", "open or close a kind; the result of a step", 4, "has_line"),
    Action("merge_step", "m", "merge …", "choose left, right or both, by paragraph and field, at once", 4, "may_merge", command="engram review merge --content"),
    Action("rehearsal", "d", "answers", "the past queries whose answers would change", 5, "has_plan"),
    Action("fold_kind", "left", "close", "close the kind", 0, "is_listing", run="open_kind(False)"),
    Action("open_kind", "right", "open", "open the kind", 0, "is_listing", run="open_kind(True)"),
    Action("take_all", "asterisk", "take all", "select every step that needs no confirmation, or none", 0, "has_plan"),
    Action("plan_again", "r,f5", "plan again", "plan anew", 0, "is_listing", command="engram consolidate"),
)  # fmt: skip
