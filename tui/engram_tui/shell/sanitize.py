"""Make text safe for a terminal. Text of an entry passes `safe_line` or `safe_lines` before a widget gets it.

If that is forgotten somewhere, Textual would write its escape sequences to the terminal; `SanitizeFilter` replaces them
in every line that is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.filter import LineFilter

from engram.domain.text.safe_text import SHOWN_AS, safe_text

if TYPE_CHECKING:
    from textual.color import Color


def safe_line(text: object, limit: int = 0) -> str:
    """Make a text safe as one line; cut it to `limit` characters, if given."""
    found = safe_text(str(text))
    return f"{found[: limit - 1]}…" if limit and len(found) > limit else found


def safe_lines(text: object) -> str:
    """Make a text of several lines safe."""
    return safe_text(str(text), lines=True)


class SanitizeFilter(LineFilter):
    """Replaces unsafe characters cell for cell, so that the line keeps its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """Return safe segments; nearly always the same list."""
        if all(text.isprintable() for text, _, _ in segments):
            return segments
        return [
            segment
            if segment.text.isprintable() or segment.control
            else Segment(_replace_unsafe(segment.text), segment.style)
            for segment in segments
        ]


def _replace_unsafe(text: str) -> str:
    """Replace each unsafe character by a sign for each of its cells, if it has any."""
    return "".join(
        [letter if safe_text(letter) == letter else SHOWN_AS * cell_len(letter) for letter in text]
    )
