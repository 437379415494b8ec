"""A whole difference as one text."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from engram_tui.shell.text_screen import TextScreen


class DifferenceScreen(TextScreen):
    """Shows a text with its marks; the key that opened it closes it, too."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "dismiss", "close")]
