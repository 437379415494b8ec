"""The app itself: it knows the store and shows the first screen. Everything else is on the screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import App

from engram_tui.browse import BrowseScreen

if TYPE_CHECKING:
    from engram.app import Engram


class EngramApp(App[None]):
    """Engram in a terminal."""

    TITLE = "Engram"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False  # ours is the list of keys, under the same key
    NOTIFICATION_TIMEOUT = 4

    def __init__(self, store: Engram, *, plain: bool = False) -> None:
        """`plain` sends no colours at all; Textual's own answer to NO_COLOR still sends greys."""
        super().__init__(ansi_color=True if plain else None)
        self.store = store

    def on_mount(self) -> None:
        """Open on the list of lore."""
        self.push_screen(BrowseScreen(self.store))
