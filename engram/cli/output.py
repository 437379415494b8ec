"""Standard output and error: text for people (coloured only at a terminal), or one JSON document."""

from __future__ import annotations

import os
import sys

from engram.domain.text.safe_text import safe_json, safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

    from engram.domain.errors import EngramError

BOLD, DIM, GREEN, YELLOW, RED, CYAN = "1", "2", "32", "33", "31", "36"
_LONGEST_ERROR = 1200


class Output:
    """The output of a command. With `json` it is one JSON document, and text for people is dropped."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self._colour = not json and _colour_wanted()
        self._width = 0

    @property
    def width(self) -> int:
        """The width of the terminal in columns (at least 20); 120 for a pipe."""
        if not self._width:
            self._width = os.get_terminal_size(1).columns if sys.stdout.isatty() else 120
        return max(self._width, 20)

    def line(self, text: str = "") -> None:
        """Print one or more lines for people; nothing with --json."""
        if not self.json:
            print(text)

    def lines(self, texts: Iterable[str]) -> None:
        """Print each text with `line`."""
        for text in texts:
            self.line(text)

    def say(self, *texts: str, lines: bool = False) -> None:
        """Print each plain text with `line`, escaped by `safe_text`; `lines` keeps its line ends."""
        self.lines(safe_text(text, lines=lines) for text in texts)

    def note(self, text: str, hint: str = "") -> None:
        """Print a note, and a hint on the next line, to standard error."""
        print(safe_text(text), file=sys.stderr)
        if hint:
            print(f"  {safe_text(hint)}", file=sys.stderr)

    def notes(self, texts: Iterable[str]) -> None:
        """Print each text with `note`."""
        for text in texts:
            self.note(text)

    def document(self, value: Mapping[str, object]) -> None:
        """Print the answer as JSON; nothing without --json."""
        if self.json:
            import json

            print(safe_json(json.dumps(value, ensure_ascii=False, default=str)))

    def error(self, error: EngramError) -> None:
        """Print an error: as JSON to standard output, or as a sentence and a hint to standard error."""
        if self.json:
            self.document({"error": error.as_dict()})
            return
        message = shorten(safe_text(error.message), _LONGEST_ERROR)  # it may quote an argument of any length
        print(self.styled("engram: ", RED, stream=sys.stderr) + message, file=sys.stderr)
        if error.hint:
            print(f"  {shorten(safe_text(error.hint), _LONGEST_ERROR)}", file=sys.stderr)

    def styled(self, text: str, *styles: str, stream: TextIO | None = None) -> str:
        """Return the text in a style, if the output is coloured."""
        if not styles or not self._colour or (stream is not None and not stream.isatty()):
            return text
        return f"\x1b[{';'.join(styles)}m{text}\x1b[0m"

    def dim(self, text: str) -> None:
        """Print a dim line of plain text, escaped by `safe_text`."""
        self.line(self.styled(safe_text(text), DIM))


def _colour_wanted() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def at_terminal() -> bool:
    """Return whether both standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def display_width(text: str) -> int:
    """Return the width of a text in terminal columns: two for wide characters (CJK, emoji), none for combining marks."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def shorten(text: str, width: int) -> str:
    """Cut a text to `width` columns, ending in … if it was longer."""
    if display_width(text) <= width:
        return text
    end, room = 0, width - 1
    while end < len(text) and (room := room - _character_width(text[end])) >= 0:
        end += 1
    return text[:end].rstrip() + "…"


def pad(text: str, width: int) -> str:
    """Shorten a text, or append spaces, to exactly `width` columns."""
    text = shorten(text, width)
    return text + " " * (width - display_width(text))


def _character_width(character: str) -> int:
    from unicodedata import combining, east_asian_width  # most texts are ASCII

    return 2 if east_asian_width(character) in "WF" else int(not combining(character))
