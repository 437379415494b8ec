"""A pane that scrolls by keys and shows markdown: rendered where that is quick, else as source."""

from __future__ import annotations

import re
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

MOST_LETTERS = 4000
MOST_CELLS = 400
MOST_COLUMNS = 12
MOST_NESTING = 12


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

    def put_body(self, body: str) -> None:
        """Show a text that is sanitized already."""
        plain = self.query_one("#plain", Static)
        plain.display = bool(body)
        if body and is_light(body):
            from engram_tui.widgets.rendered import Rendered  # importing it costs a tenth of the first paint

            plain.update(Rendered(body))
        else:
            plain.update(body)


def is_light(text: str) -> bool:
    """Return whether rendering this markdown is quick and its result readable: not long, no large table, no deep nesting."""
    if len(text) > MOST_LETTERS or nesting(text) > MOST_NESTING:
        return False
    columns = [line.count("|") for line in text.splitlines() if "|" in line]
    return sum(columns) <= MOST_CELLS and max(columns, default=0) <= MOST_COLUMNS + 1


def nesting(text: str) -> int:
    """Return how deep quotes and indented lines go at most."""
    deepest = 0
    for line in text.splitlines():
        rest = line.lstrip(" \t>")
        lead = line[: len(line) - len(rest)]
        markers = len(re.match(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*", rest)[0].split())  # type: ignore[index]
        deepest = max(
            deepest, lead.count(">") + lead.count("\t") + lead.count(" ") // 4 + max(0, markers - 1)
        )
    return deepest
