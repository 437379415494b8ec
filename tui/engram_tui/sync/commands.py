"""The commands that add and remove a remote. Both are logged and can be undone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engram.adapters.git.run.failures import without_credentials
from engram_tui.shell.command import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.app import Engram


def add_remote(name: str, url: str) -> Command:
    """Add a remote."""
    return _remote(
        f"engram remote add {name} {without_credentials(url)}",
        f"{name} is a remote of this store now: S syncs with it",
        partial(_add, name, url),
        partial(_remove, name),
    )


def remove_remote(name: str, url: str) -> Command:
    """Remove a remote; `url` is needed to undo that."""
    return _remote(
        f"engram remote remove {name}",
        f"{name} is removed; what is stored there stays",
        partial(_remove, name),
        partial(_add, name, url),
    )


def _remote(
    command_line: str, message: str, change: Callable[[Engram], bool], undo: Callable[[Engram], bool]
) -> Command:
    def execute(store: Engram, _ids: tuple[str, ...]) -> str:
        change(store)
        return message

    return Command("Remote", execute, command_line, repeats=False, creates=True, undo=undo, redo=change)


def _add(name: str, url: str, store: Engram) -> bool:
    store.add_remote(name, url)
    return True


def _remove(name: str, store: Engram) -> bool:
    store.remove_remote(name)
    return True
