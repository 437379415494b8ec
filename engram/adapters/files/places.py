"""Paths on this machine: the user's configuration, data and cache folders, and the store around a folder.

The only module that knows them. Not the `platformdirs` package, which costs 12 ms of start-up for three joins.
"""

from __future__ import annotations

import os
import sys

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIG_NAME = ".engram.toml"
_APP = "engram"


def user_config_file() -> str:
    """Return the path of the user's own configuration file, which need not exist."""
    return os.path.join(_base_folder("XDG_CONFIG_HOME", "APPDATA", ".config"), _APP, "config.toml")


def user_store() -> str:
    """Return the root of the user's own store, used if there is no project store."""
    return os.path.join(_base_folder("XDG_DATA_HOME", "LOCALAPPDATA", ".local/share"), _APP, "store")


def cache_folder() -> str:
    """Return the user's cache folder."""
    return os.path.join(_base_folder("XDG_CACHE_HOME", "LOCALAPPDATA", ".cache"), _APP)


def connections_file() -> str:
    """Return the path of the record of agents' files that `engram connect` changed, with their previous contents."""
    return os.path.join(
        _base_folder("XDG_DATA_HOME", "LOCALAPPDATA", ".local/share"), _APP, "connections.json"
    )


def team_store(name: str, path: str = "") -> str:
    """Return the folder of the clone of a team's store: `path` if configured, else one in the user's data folder."""
    base = os.path.join(_base_folder("XDG_DATA_HOME", "LOCALAPPDATA", ".local/share"), _APP, "teams")
    return os.path.join(base, os.path.expanduser(path) or name)


def enclosing_store(start: str, beside: Callable[[str], str | None] | None = None) -> str | None:
    """Return the nearest folder at or above `start` that has a `.engram.toml`; None if there is none.

    `beside` is called for each folder without one and may return the root of the store for it.
    """
    folder = os.path.abspath(start)
    while True:
        if os.path.isfile(os.path.join(folder, CONFIG_NAME)):
            return folder
        found = beside(folder) if beside is not None else None
        if found is not None:
            return found
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _base_folder(variable: str, windows_variable: str, below_home: str) -> str:
    chosen = os.environ.get(variable)
    if chosen and os.path.isabs(chosen):
        return chosen
    if sys.platform == "win32" and os.environ.get(windows_variable):
        return os.environ[windows_variable]
    return os.path.join(os.path.expanduser("~"), *below_home.split("/"))
