"""Engram: shared, persistent memory (lore) for AI coding agents and the people who work with them.

`engram.open()` returns a store, an `engram.app.Engram`. Importing this package is cheap: everything else is loaded on
first use.
"""

from __future__ import annotations

from engram.version import __version__

TYPE_CHECKING = False  # importing typing would take a quarter of the time of `engram --version`

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.domain.errors import EngramError
    from engram.entry_point import open_engram as open  # noqa: A004
    from engram.usecases.placement.manage_scopes import add_scope, remove_scope
    from engram.usecases.recording.edit import Edit

__all__ = ["Edit", "Engram", "EngramError", "Lore", "__version__", "add_scope", "open", "remove_scope"]

_LAZY = {
    "Engram": ("engram.app", "Engram"),
    "open": ("engram.entry_point", "open_engram"),
    "EngramError": ("engram.domain.errors", "EngramError"),
    "Lore": ("engram.domain.entry.lore", "Lore"),
    "Edit": ("engram.usecases.recording.edit", "Edit"),
    "add_scope": ("engram.usecases.placement.manage_scopes", "add_scope"),
    "remove_scope": ("engram.usecases.placement.manage_scopes", "remove_scope"),
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'engram' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _LAZY[name]
    found: object = getattr(import_module(module), attribute)
    return found
