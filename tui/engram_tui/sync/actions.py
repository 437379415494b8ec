"""The actions of the sync screen."""

# ruff: noqa: E501 - a table
from __future__ import annotations

from engram_tui.shell.action import Action

ACTIONS = (
    Action("back", "escape", "back", "back to the list", 1, "is_reading"),
    Action("cancel_sync", "escape,ctrl+c", "cancel", "end the sync that is running; nothing is left half done", 1, "is_syncing"),
    Action("sync", "s", "sync", "commit what waits, bring in what is new, merge by field, send", 2, "can_sync", command="engram sync"),
    Action("sync_look", "d", "dry run", "ask the remote what is new there; change nothing here", 3, "can_sync", command="engram sync --dry-run"),
    Action("sync_pull", "p", "pull", "only bring in and merge, send nothing", 4, "can_sync", command="engram sync --pull"),
    Action("sync_push", "P", "push", "only send, bring in nothing", 5, "can_sync", command="engram sync --push"),
    Action("read", "enter", "open", "read this lore; esc goes back", 6, "can_read"),
    Action("add_remote", "a", "add remote", "say where this store is kept in common", 7, "can_have_remotes", command="engram remote add"),
    Action("remove_remote", "x", "remove remote", "forget a remote; what is there stays there", 0, "can_forget_remotes", command="engram remote remove"),
)  # fmt: skip
