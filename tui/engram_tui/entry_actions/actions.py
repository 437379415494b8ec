"""The actions on an entry that all screens with entries share."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from engram_tui.shell.action import Action


def judging(helpful: int, incorrect: int, not_relevant: int) -> tuple[Action, ...]:
    """Return the actions that judge an entry, with their places in the footer."""
    return (
        Action("helpful", "h", "helpful", "this was helpful: confidence +0.08", helpful, "selected_ids", run="judge('helpful')", command="engram feedback --helpful"),
        Action("incorrect", "x", "incorrect", "this is incorrect: confidence −0.15", incorrect, "selected_ids", run="judge('incorrect')", command="engram feedback --incorrect"),
        Action("not_relevant", "n", "not relevant", "not relevant here: confidence stays", not_relevant, "selected_ids", run="judge('not_relevant')", command="engram feedback --not-relevant"),
    )  # fmt: skip


ENTRY_ACTIONS = (
    Action("archive", "a", "archive", "exclude it from recall, or include an archived one again; it stays in the store", 0, "selected_ids", command="engram edit --status archived"),
    Action("pin", "p", "pin", "pin it, so that it never fades, or unpin it", 0, "selected_ids", command="engram edit --pin"),
    Action("tags", "number_sign", "tags", "add tags, or remove them with -tag", 0, "selected_ids", command="engram edit --add-tag"),
    Action("category", "c", "category", "set another category", 0, "selected_ids", command="engram edit --category"),
    Action("forget", "D,delete", "forget", "delete it; undo restores it", 0, "selected_ids", command="engram forget"),
    Action("copy_path", "L", "copy path", "copy the path of its file to the clipboard", 0, "selected_ids"),
    Action("copy_name", "Y", "copy id", "copy its ref in this session, else its id", 0, "selected_ids"),
    Action("open_file", "o", "open file", "open a file that it names, or its own, in the editor", 0, "selected_ids"),
)  # fmt: skip
