"""A list of lines made of columns, for screens that list something other than entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from engram_tui.widgets.entry_list import EntryList, column

if TYPE_CHECKING:
    from engram_tui.widgets.rows import Row

QUIET, STRONG, GOOD, WARN, BAD = "quiet", "strong", "good", "warn", "bad"


class Part(NamedTuple):
    """A column of a line: its text, its style, and its width in cells (0: what the others leave)."""

    text: str
    style: str = ""
    cells: int = 0


class Line(NamedTuple):
    """A line with a unique `id`; `entry_id` is the entry it is about ("": none).

    The cursor skips a `heading`. `group` is the same for lines that belong together.
    """

    id: str
    parts: tuple[Part, ...]
    entry_id: str = ""
    heading: bool = False
    group: str = ""


class LineList(EntryList):
    """A list of lines that moves like the list of entries, and like it draws only what is visible."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line--{style}" for style in (QUIET, STRONG, GOOD, WARN, BAD)}
    DEFAULT_CSS = """
    LineList {
        & .line--quiet { color: $text-muted; }
        & .line--strong { color: $text-primary; text-style: bold; }
        & .line--good { color: $text-success; }
        & .line--warn { color: $text-warning; }
        & .line--bad { color: $text-error; }
    }
    """

    @property
    def lines(self) -> Sequence[Line]:
        """The lines."""
        return cast("Sequence[Line]", self.rows)

    @property
    def line(self) -> Line | None:
        """The line under the cursor."""
        return cast("Line | None", self.current)

    def show_lines(self, lines: Sequence[Line], *, keep: str = "") -> None:
        """Show other lines, the cursor on the one with the id `keep`, else on the first that is no heading."""
        keep = keep if any(line.id == keep for line in lines) else ""
        self.show(cast("Sequence[Row]", lines), keep=keep)
        if self.line is not None and self.line.heading:
            self.action_move(1)

    def action_move(self, rows: int) -> None:
        """Move the cursor past headings; the first one scrolls into view."""
        before = self.cursor
        self.cursor += rows
        while self.line is not None and self.line.heading and 0 < self.cursor < len(self.rows) - 1:
            self.cursor += 1 if rows > 0 else -1
        if self.line is not None and self.line.heading:
            self.cursor = before
            if rows < 0:
                self.scroll_to(y=0, animate=False, force=True)

    def action_edge(self, bottom: bool) -> None:
        """Move the cursor to the first or last line that is no heading."""
        super().action_edge(bottom)
        if not bottom and self.line is not None and self.line.heading:
            self.action_move(1)

    def _row_strip(self, row: Row, width: int, chosen: bool) -> Strip:
        line = cast("Line", row)
        base = self.rich_style
        if chosen and not line.heading:
            base = self.get_component_rich_style("lore--cursor" if self.has_focus else "lore--resting")
        fixed_cells = 2 + sum(part.cells for part in line.parts)
        flexible = sum(not part.cells for part in line.parts) or 1
        room = max(0, width - fixed_cells) // flexible
        sign = "●" if line.id in self.marked else " "
        segments = [Segment(f"{'▌' if chosen and not line.heading else ' '}{sign}", base)]
        for part in line.parts:
            style = base + self._part_style(part.style) if part.style else base
            segments.append(Segment(column(part.text, part.cells or room), style))
        return Strip(segments).adjust_cell_length(width, base)

    def _part_style(self, name: str) -> Style:
        found = self.get_component_rich_style(f"line--{name}")
        return Style(color=found.color, bold=found.bold)
