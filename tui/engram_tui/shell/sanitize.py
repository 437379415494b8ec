"""Text that is safe in a terminal. A text of an entry passes `safe_line` or `safe_lines` before a widget gets it.

Should one be forgotten, Textual would write its escape sequences to the terminal: `SanitizeFilter` sees every line that
is drawn and replaces them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.filter import LineFilter

from engram.domain.text.safe_text import SHOWN_AS, safe_text

if TYPE_CHECKING:
    from textual.color import Color


def safe_line(text: object, most: int = 0) -> str:
    """Make a text safe as one line; cut it to `most` characters, if given."""
    found = safe_text(str(text))
    return f"{found[: most - 1]}…" if most and len(found) > most else found


def safe_lines(text: object) -> str:
    """Make a text of several lines safe."""
    return safe_text(str(text), lines=True)


class SanitizeFilter(LineFilter):
    """Replaces what must not reach a terminal, cell for cell, so that the line keeps its width."""

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
    """Replace each unsafe character by a sign of its own width (none at all for none)."""
    return "".join(
        [letter if safe_text(letter) == letter else SHOWN_AS * cell_len(letter) for letter in text]
    )
