"""The only writer of standard output and error: text for people (colour only at a terminal), or one JSON document."""

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
_LONGEST = 1200


class Output:
    """Where a command's answer goes."""

    def __init__(self, *, json: bool) -> None:
        """`json` makes every answer one JSON document."""
        self.json = json
        self._colour = not json and _colour_wanted()
        self._width = 0

    @property
    def width(self) -> int:
        """The width of the terminal, or 120 for a pipe."""
        if not self._width:
            self._width = os.get_terminal_size(1).columns if sys.stdout.isatty() else 120
        return max(self._width, 20)

    def line(self, text: str = "") -> None:
        """One line (or several) for people; nothing with --json."""
        if not self.json:
            print(text)

    def lines(self, texts: Iterable[str]) -> None:
        """Print each text as `line` does."""
        for text in texts:
            self.line(text)

    def say(self, *texts: str, lines: bool = False) -> None:
        """Print each plain text as `line` does, made safe for the screen; with `lines` its line ends stay."""
        self.lines(safe_text(text, lines=lines) for text in texts)

    def note(self, text: str, hint: str = "") -> None:
        """Print a remark on the answer, on standard error, and below it what to do."""
        print(safe_text(text), file=sys.stderr)
        if hint:
            print(f"  {safe_text(hint)}", file=sys.stderr)

    def notes(self, texts: Iterable[str]) -> None:
        """Print each remark as `note` does."""
        for text in texts:
            self.note(text)

    def document(self, value: Mapping[str, object]) -> None:
        """The answer as JSON; nothing without --json."""
        if self.json:
            import json

            print(safe_json(json.dumps(value, ensure_ascii=False, default=str)))

    def error(self, error: EngramError) -> None:
        """An error: JSON on standard output, or a sentence and a hint on standard error."""
        if self.json:
            self.document({"error": error.as_dict()})
            return
        message = shorten(safe_text(error.message), _LONGEST)  # it may quote an argument of any length
        print(self.styled("engram: ", RED, stream=sys.stderr) + message, file=sys.stderr)
        if error.hint:
            print(f"  {shorten(safe_text(error.hint), _LONGEST)}", file=sys.stderr)

    def styled(self, text: str, *styles: str, stream: TextIO | None = None) -> str:
        """The text in a style where colours are wanted."""
        if not styles or not self._colour or (stream is not None and not stream.isatty()):
            return text
        return f"\x1b[{';'.join(styles)}m{text}\x1b[0m"

    def rule(self, text: str) -> None:
        """A dim line of plain text."""
        self.line(self.styled(safe_text(text), DIM))


def _colour_wanted() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def at_terminal() -> bool:
    """Whether a person reads and types at a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: wide characters (CJK, emoji) take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def shorten(text: str, width: int) -> str:
    """At most `width` columns, with … where something is missing."""
    if cells(text) <= width:
        return text
    kept, room = 0, width - 1
    while kept < len(text) and (room := room - _cells(text[kept])) >= 0:
        kept += 1
    return text[:kept].rstrip() + "…"


def pad(text: str, width: int) -> str:
    """Exactly `width` columns: shortened, or with spaces behind it."""
    text = shorten(text, width)
    return text + " " * (width - cells(text))


def _cells(character: str) -> int:
    from unicodedata import combining, east_asian_width  # most texts are ASCII

    return 2 if east_asian_width(character) in "WF" else int(not combining(character))
