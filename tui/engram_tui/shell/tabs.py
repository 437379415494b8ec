"""The tabs: screens with a number key. Their modules are imported when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from engram.app import Engram
    from engram_tui.shell.action import Action
    from engram_tui.shell.store_screen import StoreScreen


class Tab(NamedTuple):
    """A tab: its name, its title, the package with its modules `screen` and `actions`, and the class of its screen.

    Importing these modules for all seven tabs at once would delay the first paint.
    """

    name: str
    title: str
    package: str
    screen_class: str

    def make_screen(self, store: Engram) -> StoreScreen:
        """Return a new screen for this tab."""
        module = import_module(f"{self.package}.screen")
        return cast("StoreScreen", getattr(module, self.screen_class)(store))

    def actions(self) -> tuple[Action, ...]:
        """Return the screen's own actions."""
        return tuple(import_module(f"{self.package}.actions").ACTIONS)
