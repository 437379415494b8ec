"""The actions of the sync screen."""

# ruff: noqa: E501 - a table
from engram_tui.shell.action import Action

ACTIONS = (
    Action("back", "escape", "back", "back to the list", 1, "is_reading"),
    Action("cancel_sync", "escape,ctrl+c", "cancel", "cancel the sync that is running; nothing is left half done", 1, "is_syncing"),
    Action("sync", "S", "sync", "commit local changes, pull, merge by field, push", 2, "can_sync", command="engram sync"),
    Action("sync_look", "d", "dry run", "ask the remote what is new there; change nothing here", 3, "can_sync", run="sync('--dry-run')", command="engram sync --dry-run"),
    Action("sync_pull", "I", "pull", "only pull and merge", 4, "can_sync", run="sync('--pull')", command="engram sync --pull"),
    Action("sync_push", "O,P", "push", "only push", 5, "can_sync", run="sync('--push')", command="engram sync --push"),
    Action("read", "enter", "open", "read this entry; esc goes back", 6, "can_read"),
    Action("add_remote", "plus", "add remote", "add a git repository to share this store", 7, "can_have_remotes", command="engram remote add"),
    Action("remove_remote", "minus", "remove remote", "remove a remote; what is stored there stays", 0, "can_forget_remotes", command="engram remote remove"),
)  # fmt: skip
