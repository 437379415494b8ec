"""A pane that scrolls by keys and shows markdown: rendered if that is quick, else as source."""

from __future__ import annotations

import re
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

MAX_CHARACTERS = 4000
MAX_CELLS = 400
MAX_COLUMNS = 12
MAX_NESTING = 12


class MarkdownPane(VerticalScroll, can_focus=True):
    """Subclasses yield a `Static` with the id `plain`, which shows the text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("ctrl+d", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    def show_body(self, body: str) -> None:
        """Show a sanitized text."""
        plain = self.query_one("#plain", Static)
        plain.display = bool(body)
        if body and is_light(body):
            from engram_tui.widgets.rendered import Rendered  # importing it costs a tenth of the first paint

            plain.update(Rendered(body))
        else:
            plain.update(body)


def is_light(text: str) -> bool:
    """Return whether this markdown renders quickly and readably: not long, no large table, no deep nesting."""
    if len(text) > MAX_CHARACTERS or measure_nesting(text) > MAX_NESTING:
        return False
    columns = [line.count("|") for line in text.splitlines() if "|" in line]
    return sum(columns) <= MAX_CELLS and max(columns, default=0) <= MAX_COLUMNS + 1


def measure_nesting(text: str) -> int:
    """Return the depth of the deepest nested quote or indented line."""
    deepest = 0
    for line in text.splitlines():
        rest = line.lstrip(" \t>")
        indent = line[: len(line) - len(rest)]
        markers = len(re.match(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*", rest)[0].split())  # type: ignore[index]
        deepest = max(
            deepest, indent.count(">") + indent.count("\t") + indent.count(" ") // 4 + max(0, markers - 1)
        )
    return deepest
