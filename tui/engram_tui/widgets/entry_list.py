"""The list of lore: draws the lines that are visible and no others, so its cost does not grow with the list.

Textual's own lists make a widget or measure a cell for every row: seconds at 100,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from engram.domain.entry.confidence import STATES, state
from engram.domain.entry.lore import ACTIVE
from engram.domain.text.safe_text import safe_text
from engram_tui.shell.action import bindings
from engram_tui.shell.actions import MOVES
from engram_tui.widgets.rows import (
    CATEGORY_CELLS,
    NO_REF,
    Row,
    age,
    bar,
    fraction,
    have_refs,
    ids_of,
    short_category,
)

ROOMY = 82  # cells from which the longer confidence bar fits
VERY_ROOMY = 96  # cells from which the worth fits, too
MOST_STRIPS = 500
AGE_CELLS, COUNT_CELLS, WORTH_CELLS = 7, 6, 6

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType


class LoreList(ScrollView, can_focus=True):
    """A list of rows with a cursor; posts `Highlighted` when the cursor comes to rest on another lore."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lore--cursor",
        "lore--resting",
        "lore--quiet",
        *(f"lore--{state}" for state in STATES),
    }
    DEFAULT_CSS = """
    LoreList {
        background: $background; overflow-x: hidden; scrollbar-size-vertical: 1;
        & .lore--cursor { background: $primary 40%; color: $foreground; text-style: bold; }
        & .lore--resting { background: $surface-lighten-1; text-style: bold; }
        & .lore--quiet { color: $text-muted; }
        & .lore--cold { color: $text-error; }
        & .lore--warm { color: $text-warning; }
        & .lore--trusted { color: $text-primary; }
        & .lore--authoritative { color: $text-success; }
        &:nocolor .lore--cursor { text-style: reverse bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(MOVES)

    cursor: reactive[int] = reactive(0, repaint=False)

    class Highlighted(Message):
        """The cursor is on another lore (None: the list is empty)."""

        def __init__(self, row: Row | None) -> None:
            super().__init__()
            self.row = row

    class Opened(Message):
        """A lore was double-clicked."""

    def __init__(self, now: float = 0.0, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.rows: Sequence[Row] = ()
        self.now = now  # ages are told from here, in Unix seconds
        self.shows_refs = self.shows_worth = False
        self.instead: tuple[str, ...] = ()  # what an empty list says
        self._strips: dict[
            tuple[object, ...], Strip
        ] = {}  # lines as drawn lately: scrolling shows most of them again
        self.marked: dict[
            str, None
        ] = {}  # ids, in the order in which they were marked; also of rows not listed now

    @property
    def current(self) -> Row | None:
        """The lore under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def show(self, rows: Sequence[Row], *, keep: str = "") -> None:
        """Show other rows, the cursor on the lore with the id `keep` and on its line of the screen, or at the top.

        Where that lore is gone, the cursor stays on its line.
        """
        before, line, old = self.current, self.cursor - self.scroll_offset.y, self.cursor
        self.rows = rows
        self.shows_refs = have_refs(rows) if rows and isinstance(rows[0], Row) else False
        ids = ids_of(rows) if keep else []
        wanted = ids.index(keep) if keep in ids else (min(old, max(0, len(rows) - 1)) if keep else 0)
        self._measure()
        self.set_reactive(LoreList.cursor, wanted)
        if keep:
            self.scroll_to(y=max(0, wanted - line), animate=False, force=True)
        self._into_view()
        self.refresh()
        if self.current != before:
            self.post_message(self.Highlighted(self.current))

    def mark(self, ids: Sequence[str], *, on: bool) -> None:
        """Mark lore, or take their marks away."""
        for lore_id in ids:
            if on:
                self.marked[lore_id] = None
            else:
                self.marked.pop(lore_id, None)
        self.refresh()

    def say(self, *lines: str) -> None:
        """What to show while there are no rows."""
        self.instead = lines
        self.refresh()

    def validate_cursor(self, value: int) -> int:
        """Keep the cursor on a row."""
        return max(0, min(value, len(self.rows) - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Draw the two rows that changed, and say which lore is meant now."""
        self._draw_row(old)
        self._draw_row(new)
        self._into_view()
        self.post_message(self.Highlighted(self.current))

    def watch_has_focus(self, _has_focus: bool) -> None:
        """The cursor looks different where keys go elsewhere."""
        super().watch_has_focus(_has_focus)
        self._draw_row(self.cursor)

    def on_resize(self) -> None:
        """Another width needs every visible line anew."""
        self._measure()
        self._into_view()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click opens."""
        row = self.scroll_offset.y + event.y
        if row < len(self.rows):
            self.cursor = row
            if event.chain == 2:
                self.post_message(self.Opened())

    def action_move(self, rows: int) -> None:
        """Move the cursor down (negative: up)."""
        self.cursor += rows

    def action_half_page(self, direction: int) -> None:
        """Move the cursor by half of what is visible."""
        self.cursor += direction * max(1, self.size.height // 2)

    def action_edge(self, bottom: bool) -> None:
        """Move the cursor to the first or last row."""
        self.cursor = len(self.rows) - 1 if bottom else 0

    def render_line(self, y: int) -> Strip:
        """One visible line."""
        number = y + self.scroll_offset.y
        width = self.size.width
        if number < len(self.rows):
            return self._row_strip(self.rows[number], width, number == self.cursor)
        text = self.instead[y - 1] if not self.rows and 0 <= y - 1 < len(self.instead) else ""
        return Strip([Segment(fitted(f"  {safe_text(text)}", width), self.rich_style)], width)

    def _row_strip(self, row: Row, width: int, chosen: bool) -> Strip:
        looks = (row, width, chosen and self.has_focus, chosen, row.id in self.marked)
        drawn = (*looks, self.shows_refs, self.shows_worth, self.now)
        strip = self._strips.get(drawn)
        if strip is None:
            if len(self._strips) >= MOST_STRIPS:
                self._strips.clear()
            strip = self._strips[drawn] = self._drawn_row(row, width, chosen)
        return strip

    def notify_style_update(self) -> None:
        """Other colours: every line is to be drawn anew."""
        super().notify_style_update()
        self._strips.clear()

    def _drawn_row(self, row: Row, width: int, chosen: bool) -> Strip:
        base = self.rich_style
        if chosen:
            base = self.get_component_rich_style("lore--cursor" if self.has_focus else "lore--resting")
        quiet, strength = self._over(base, "lore--quiet"), self._over(base, f"lore--{state(row.confidence)}")
        bar_cells = 8 if width >= ROOMY else 4
        parts = [
            *([(row.ref or NO_REF, quiet, 4)] if self.shows_refs else []),
            (bar(row.confidence, bar_cells), strength, bar_cells + 1),
            (fraction(row.confidence), base, 5),
            (short_category(row.category), quiet, CATEGORY_CELLS + 1),
        ]
        said = f"w {fraction(row.worth)}" if row.worth else NO_REF
        worth = [(f"{said:>{WORTH_CELLS - 1}}", quiet, WORTH_CELLS)]
        worth = worth if self.shows_worth or width >= VERY_ROOMY else []
        taken = 2 + sum(cells for _, _, cells in (*parts, *worth)) + AGE_CELLS + COUNT_CELLS
        title = f"{'⚲ ' if row.pinned else ''}{row.title}"
        title = title if row.status == ACTIVE else f"({row.status}) {title}"
        count = f"✓{row.validation_count}" if row.validation_count else NO_REF
        parts += [
            (title, base if row.status == ACTIVE else quiet, max(0, width - taken)),
            *worth,
            (f"{age(self.now - row.created_at):>{AGE_CELLS - 1}}", quiet, AGE_CELLS),
            (f"{count:>{COUNT_CELLS - 1}}", quiet, COUNT_CELLS),
        ]
        sign = "●" if row.id in self.marked else " "
        marker = Segment(f"{'▌' if chosen else ' '}{sign}", base if sign == "●" else strength)
        return Strip(
            [marker, *(Segment(column(text, cells), style) for text, style, cells in parts)]
        ).adjust_cell_length(width, base)

    def _over(self, base: Style, component: str) -> Style:
        """A component's colour on the line's own background."""
        return base + Style(color=self.get_component_rich_style(component).color)

    def _measure(self) -> None:
        self.virtual_size = Size(self.size.width, len(self.rows))

    def _into_view(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, max(1, self.size.width), 1), animate=False, force=True)

    def _draw_row(self, row: int) -> None:
        y = row - self.scroll_offset.y
        if 0 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))


def column(text: str, cells: int) -> str:
    """Text as a column of that many cells, the last of them a space."""
    return fitted(safe_text(text), cells - 1) + " " if cells > 0 else ""


def fitted(text: str, cells: int) -> str:
    """Text in exactly that many cells; what does not fit ends in an ellipsis."""
    if cell_len(text) <= cells:
        return set_cell_size(text, cells)
    return set_cell_size(text, cells - 1) + "…" if cells > 0 else ""
