"""The list of entries. It draws only visible lines, so its cost does not grow with the list.

Textual's own lists make a widget or measure a cell for every row, which takes seconds for 100,000.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from engram.domain.entry.lore import ACTIVE, PENDING
from engram.domain.entry.people import short_byline
from engram.domain.text.counted_nouns import elapsed
from engram.domain.text.drawing import gauge
from engram.domain.text.safe_text import safe_text
from engram_tui.shell.action import make_bindings
from engram_tui.shell.actions import MOVES
from engram_tui.widgets.format import fraction, short_category
from engram_tui.widgets.rows import Row, have_refs, index_of

NARROWEST, SMALL = 56, 70  # cells from which category and ref fit, and a confidence bar
WITH_WHO = 90  # cells from which the name of who recorded it fits, and how often it helped
ROOMY = 130  # cells from which the longer confidence bar fits, and the usefulness
HUES = 3  # colours of categories, for their column only; none of them stands for a state
MAX_STRIPS = 500
CURSOR_DELAY = 0.05  # seconds on a row before a screen shows its entry
AGES_INTERVAL = 30.0  # seconds after which a screen redraws ages
CATEGORY_CELLS = 11
AGE_CELLS = 7
COUNT_CELLS = 6
USEFULNESS_CELLS = 6
WHO_CELLS = 16
NONE = "·"

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType


class EntryList(ScrollView, can_focus=True):
    """A list of rows with a cursor; posts `Highlighted` when the cursor is on another entry."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lore--cursor",
        "lore--resting",
        "lore--quiet",
        "lore--arrived",
        "lore--confirmed",
        "lore--disputed",
        "lore--held",
        *(f"lore--hue{number}" for number in range(HUES)),
        *(f"lore--{state}" for state in STATES),
    }
    DEFAULT_CSS = """
    EntryList {
        background: $background; overflow-x: hidden; scrollbar-size-vertical: 1;
        & .lore--cursor { background: $primary 40%; color: $foreground; text-style: bold; }
        & .lore--resting { background: $surface-lighten-1; text-style: bold; }
        & .lore--quiet { color: $text-muted; }
        & .lore--arrived { color: $text-success; }
        & .lore--confirmed { color: $text-success; }
        & .lore--disputed { color: $text-warning; }
        & .lore--held { color: $text-error; }
        & .lore--hue0 { color: $text-primary; }
        & .lore--hue1 { color: $text-secondary; }
        & .lore--hue2 { color: $text-accent; }
        & .lore--cold { color: $text-error; }
        & .lore--warm { color: $text-warning; }
        & .lore--trusted { color: $text-primary; }
        & .lore--authoritative { color: $text-success; }
        &:nocolor .lore--cursor { text-style: reverse bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(MOVES)

    cursor: reactive[int] = reactive(0, repaint=False)

    class Highlighted(Message):
        """The cursor is on another entry (None: the list is empty)."""

        def __init__(self, row: Row | None) -> None:
            super().__init__()
            self.row = row

    class Opened(Message):
        """An entry was double-clicked."""

    def __init__(self, now: float = 0.0, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.rows: Sequence[Row] = ()
        self.now = now  # ages are relative to it, in Unix seconds
        self.shows_refs = self.shows_usefulness = False
        self.placeholder: tuple[str, ...] = ()  # the lines of an empty list
        # Recently drawn lines: scrolling shows most of them again.
        self._strips: dict[tuple[object, ...], Strip] = {}
        # Marked ids, in the order in which they were marked, even of rows that are not listed now.
        self.marked: dict[str, None] = {}
        self.arrived: set[str] = set()  # ids of entries that were added while the list was open

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    @property
    def current_id(self) -> str:
        """The id of the row under the cursor; "" if there is none."""
        return self.current.id if self.current is not None else ""

    def show(self, rows: Sequence[Row], *, keep: str = "") -> None:
        """Show other rows, the cursor on the entry with the id `keep`, or at the top.

        The entry stays on its line of the screen. If it is gone, the cursor stays on its row.
        """
        before, line = self.current, self.cursor - self.scroll_offset.y
        self.rows = rows
        self.shows_refs = have_refs(rows) if rows and isinstance(rows[0], Row) else False
        place = index_of(rows, keep) if keep else 0
        cursor = min(self.cursor, max(0, len(rows) - 1)) if place is None else place
        self._update_virtual_size()
        self.set_reactive(EntryList.cursor, cursor)
        if keep:
            # Rows added above stay in view.
            at_top = not self.scroll_offset.y and cursor < self.size.height
            self.scroll_to(y=0 if at_top else max(0, cursor - line), animate=False, force=True)
        self._scroll_to_cursor()
        self.refresh()
        if self.current != before:
            self.post_message(self.Highlighted(self.current))

    def mark(self, ids: Sequence[str], *, on: bool) -> None:
        """Mark entries, or remove their marks."""
        for entry_id in ids:
            if on:
                self.marked[entry_id] = None
            else:
                self.marked.pop(entry_id, None)
        self.refresh()

    def set_placeholder(self, *lines: str) -> None:
        """Set what is shown while there are no rows."""
        self.placeholder = lines
        self.refresh()

    def validate_cursor(self, value: int) -> int:
        """Keep the cursor on a row."""
        return max(0, min(value, len(self.rows) - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Redraw both rows, and post which one is under the cursor now."""
        self._draw_row(old)
        self._draw_row(new)
        self._scroll_to_cursor()
        self.post_message(self.Highlighted(self.current))

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Redraw the cursor, which looks different without the focus."""
        super().watch_has_focus(_has_focus)
        self._draw_row(self.cursor)

    def on_resize(self) -> None:
        """Redraw every visible line for the new width."""
        self._update_virtual_size()
        self._scroll_to_cursor()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor; a double click opens."""
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
        """Draw one visible line."""
        number = y + self.scroll_offset.y
        width = self.size.width
        if number < len(self.rows):
            return self._row_strip(self.rows[number], width, number == self.cursor)
        lines = ["", *self._placeholder_lines(width)] if not self.rows else []
        return Strip([Segment(fit(lines[y] if y < len(lines) else "", width), self.rich_style)], width)

    def _placeholder_lines(self, width: int) -> Iterator[str]:
        """Yield the lines of an empty list, wrapped at their own indents."""
        import textwrap

        for line in self.placeholder:
            indent = "  " + " " * (len(line) - len(line.lstrip()))
            text = safe_text(line.lstrip())
            yield from textwrap.wrap(
                text, max(12, width - 1), initial_indent=indent, subsequent_indent=indent
            ) or [""]

    def _row_strip(self, row: Row, width: int, chosen: bool) -> Strip:
        style = (width, chosen and self.has_focus, chosen, row.id in self.marked, row.id in self.arrived)
        key = (row, *style, self.shows_refs, self.shows_usefulness, self.now)
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) >= MAX_STRIPS:
                self._strips.clear()
            strip = self._strips[key] = self._draw_strip(row, width, chosen)
        return strip

    def notify_style_update(self) -> None:
        """Redraw every line in the new colours."""
        super().notify_style_update()
        self._strips.clear()

    def _draw_strip(self, row: Row, width: int, chosen: bool) -> Strip:
        base = self.rich_style
        if chosen:
            base = self.get_component_rich_style("lore--cursor" if self.has_focus else "lore--resting")
        quiet, strength = (
            self._colour(base, "lore--quiet"),
            self._colour(base, f"lore--{state(row.confidence)}"),
        )
        columns = self._columns(width)
        confirmed = "lore--confirmed" if row.validation_count else "lore--quiet"
        texts = {
            "ref": (row.ref or NONE, quiet),
            "bar": (gauge(row.confidence / 1000, columns.get("bar", 1) - 1), strength),
            "conf": (fraction(row.confidence), base),
            "category": (short_category(row.category), self._colour(base, f"lore--{hue(row.category)}")),
            "who": (short_byline(row.agent, row.author, WHO_CELLS - 1), quiet),
            "worth": (
                f"{fraction(row.usefulness) if row.usefulness else NONE:>{USEFULNESS_CELLS - 1}}",
                quiet,
            ),
            "age": (f"{elapsed(self.now - row.created_at):>{AGE_CELLS - 1}}", quiet),
            "helped": (
                f"{f'✓{row.validation_count}' if row.validation_count else NONE:>{COUNT_CELLS - 1}}",
                self._colour(base, confirmed),
            ),
        }
        title = f"{'⚲ ' if row.pinned else ''}{row.title}"
        title = title if row.status == ACTIVE else f"({row.status}) {title}"
        title_style = base if row.status == ACTIVE else quiet
        if row.disputed:
            title, title_style = f"(disputed) {title}", self._colour(base, "lore--disputed")
        elif row.status == PENDING:
            title_style = self._colour(base, "lore--held")
        texts["title"] = (title, title_style)
        sign = "●" if row.id in self.marked else "+" if row.id in self.arrived else " "
        sign_style = self._colour(base, "lore--arrived") if sign == "+" else base if sign == "●" else strength
        marker = Segment(f"{'▌' if chosen else ' '}{sign}", sign_style)
        return Strip(
            [
                marker,
                *(Segment(column(texts[name][0], cells), texts[name][1]) for name, cells in columns.items()),
            ]
        ).adjust_cell_length(width, base)

    def _columns(self, width: int) -> dict[str, int]:
        """Return the columns that fit and their cells; the title gets the rest."""
        found = {"ref": 4} if self.shows_refs and width >= NARROWEST else {}
        found |= {"bar": 9 if width >= ROOMY else 5} if width >= SMALL else {}
        found |= {"conf": 5}
        found |= {"category": CATEGORY_CELLS + 1} if width >= NARROWEST else {}
        found |= {"title": 0}
        found |= {"worth": USEFULNESS_CELLS} if self.shows_usefulness or width >= ROOMY else {}
        found |= {"who": WHO_CELLS} if width >= WITH_WHO else {}
        found |= {"age": AGE_CELLS}
        found |= {"helped": COUNT_CELLS} if width >= WITH_WHO else {}
        return found | {"title": max(6, width - 2 - sum(found.values()))}

    def heading(self) -> str:
        """Return the headings of the columns for the current width."""
        names = {"ref": "ref", "bar": "conf", "category": "category", "title": "entry"}
        names |= {"worth": "worth", "who": "who", "age": "   age", "helped": "    ✓"}
        columns = self._columns(self.size.width)
        if "bar" not in columns:
            names["conf"] = "conf"
        found = "  "
        for name, cells in columns.items():
            if name == "bar":
                cells += columns["conf"]  # noqa: PLW2901 - one heading over both
            if name != "conf" or "conf" in names:
                found += column(names[name], cells)
        return found.rstrip()

    def _colour(self, base: Style, component: str) -> Style:
        """Return the line's style with the colour of a component."""
        return base + Style(color=self.get_component_rich_style(component).color)

    def _update_virtual_size(self) -> None:
        self.virtual_size = Size(self.size.width, len(self.rows))

    def _scroll_to_cursor(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, max(1, self.size.width), 1), animate=False, force=True)

    def _draw_row(self, row: int) -> None:
        y = row - self.scroll_offset.y
        if 0 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))


def hue(category: str) -> str:
    """Return the name of a category's colour, always the same."""
    return f"hue{sum(category.encode()) % HUES}"


def column(text: str, cells: int) -> str:
    """Fit a text into a column of `cells` cells, the last of them a space."""
    return fit(safe_text(text), cells - 1) + " " if cells > 0 else ""


def fit(text: str, cells: int) -> str:
    """Fit a text into exactly `cells` cells; one that is cut ends in an ellipsis."""
    if cell_len(text) <= cells:
        return set_cell_size(text, cells)
    return set_cell_size(text, cells - 1) + "…" if cells > 0 else ""
