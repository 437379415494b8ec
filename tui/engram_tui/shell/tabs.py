"""The screens with a number key: what the line of screens shows of each, its actions, and how it is made."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from engram.app import Engram
    from engram_tui.shell.action import Action
    from engram_tui.shell.store_screen import StoreScreen


class Tab(NamedTuple):
    """A screen: its name, its title, the package that has its modules `screen` and `actions`, and its class.

    Both modules are imported when they are needed first: seven screens would make the first paint late.
    """

    name: str
    title: str
    package: str
    screen_class: str

    def make_screen(self, store: Engram) -> StoreScreen:
        """Return a new screen of this kind."""
        module = import_module(f"{self.package}.screen")
        return cast("StoreScreen", getattr(module, self.screen_class)(store))

    def actions(self) -> tuple[Action, ...]:
        """Return the screen's own actions."""
        return tuple(import_module(f"{self.package}.actions").ACTIONS)
