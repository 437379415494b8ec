"""A pane that scrolls by keys and shows markdown: rendered where that is quick, else as it is written."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from engram_tui.widgets.markdown_cost import is_light


class MarkdownPane(VerticalScroll, can_focus=True):
    """Has a `Static` called `plain`, which shows the text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("ctrl+d", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    def put_body(self, body: str) -> None:
        """Show a text that passed the sanitiser."""
        plain = self.query_one("#plain", Static)
        plain.display = bool(body)
        if body and is_light(body):
            from engram_tui.widgets.rendered import Rendered  # importing it costs a tenth of the first paint

            plain.update(Rendered(body))
        else:
            plain.update(body)
