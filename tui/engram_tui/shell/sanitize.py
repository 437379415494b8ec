"""The last gate on the way to the terminal: whatever a widget draws, what would act on a terminal becomes harmless.

Texts of lore pass `safe_text` where they enter (`words`), which shows what hides. Should one be forgotten, Textual
would hand its escape sequences to the terminal; this filter sees every line that is drawn and lets none through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.filter import LineFilter

from engram.domain.text.safe_text import SHOWN_AS, safe_text

if TYPE_CHECKING:
    from textual.color import Color


class Gate(LineFilter):
    """Replaces what must not reach a terminal, cell for cell, so that the line keeps its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """The segments, harmless; nearly always the same list."""
        if all(text.isprintable() for text, _, _ in segments):
            return segments
        return [
            segment
            if segment.text.isprintable() or segment.control
            else Segment(_fitting(segment.text), segment.style)
            for segment in segments
        ]


def _fitting(text: str) -> str:
    """Each letter as it is, or a sign of its own width (none at all for none)."""
    return "".join(
        [letter if safe_text(letter) == letter else SHOWN_AS * cell_len(letter) for letter in text]
    )


def words(text: object, most: int = 0) -> str:
    """A text in one line, fit for any widget; cut to `most` characters, if given."""
    found = safe_text(str(text))
    return f"{found[: most - 1]}…" if most and len(found) > most else found


def lines(text: object) -> str:
    """A text of several lines, fit for any widget."""
    return safe_text(str(text), lines=True)
