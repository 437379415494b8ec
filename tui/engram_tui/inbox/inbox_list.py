"""The list of the Inbox: the items with who recorded them, their age, their worth, and what Engram proposes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len

from engram.domain.entry.people import short_byline
from engram.domain.review.review import (
    CONFLICT,
    CONTRADICTION,
    DUPLICATE,
    ENTITY,
    FOREIGN,
    JUNK,
    LOOK,
    MOMENT,
    PENDING,
    PROBLEM,
    PROPOSAL,
    STALE,
    WEAK,
    Item,
)
from engram.domain.text.counted_nouns import elapsed
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import fit
from engram_tui.widgets.format import fraction
from engram_tui.widgets.line_list import BAD, GOOD, QUIET, WARN, Line, LineList, Part

if TYPE_CHECKING:
    from textual.strip import Strip

    from engram.usecases.review.items import Items
    from engram_tui.widgets.rows import Row

# A sign, a word and a colour for each kind; the colour only repeats what the word says.
LABELS = {
    PROBLEM: ("!", "problem", BAD), CONFLICT: ("●", "dispute", WARN), ENTITY: ("●", "entity", WARN),
    PROPOSAL: ("◇", "proposal", WARN),
    FOREIGN: ("▣", "foreign", BAD), PENDING: ("○", "pending", ""), CONTRADICTION: ("≠", "contradicts", WARN),
    DUPLICATE: ("≈", "duplicate", ""), JUNK: ("·", "junk", QUIET), STALE: ("△", "stale", QUIET),
    WEAK: ("▽", "weak", QUIET), MOMENT: ("·", "moment", QUIET),
}  # fmt: skip
KIND_CELLS = 14
WHO_CELLS = 14
AGE_CELLS = 7
WORTH_CELLS = 6
PROPOSAL_CELLS = 11
WIDE_WHO_CELLS, WIDE_TITLES = (
    24,
    60,
)  # a person and an agent, or two people; cells that titles must keep for that
SIGN_CELLS, BOTH_TITLES = 2, 36  # a kind without its word; cells from which both titles are shown
MIN_SHARED = 8  # characters that two titles begin with from which the second is cut to what differs
# Columns beside the titles, in the order in which they are added, and how many cells a title must have left.
COLUMNS = {
    "kind": (KIND_CELLS - SIGN_CELLS, 20),
    "who": (WHO_CELLS, 30),
    "age": (AGE_CELLS, 30),  # the detail pane has it, too
    "worth": (WORTH_CELLS, 34),
}


def format_titles(item: Item, cells: int) -> str:
    """Format the titles of an item in this width: both of two, the first of more and the number of others."""
    first, *others = [safe_line(title) for title in item.titles or (item.title,)]
    if len(others) == 1 and others[0] != first and cells >= BOTH_TITLES:
        return format_two(first, others[0], cells)
    if not others:
        return first
    more = f" + {len(others)}"
    return f"{fit(first, min(cell_len(first), max(1, cells - len(more))))}{more}"


def format_two(first: str, other: str, cells: int) -> str:
    """Fit two titles or names into `cells`; if need be, leave out words of the other that both begin with."""
    room = cells - 3
    if cell_len(first) + cell_len(other) > room:
        other = _without_shared(first, other)
    left = max(room // 2, room - cell_len(other))
    return f"{fit(first, min(left, cell_len(first)))} ⇄ {other}"


def _without_shared(first: str, other: str) -> str:
    """Return the other title without the words that both begin with, unless these are short."""
    pairs = enumerate(zip(first, other, strict=False))
    differs = next((index for index, (left, right) in pairs if left != right), 0)
    shared = other.rfind(" ", 0, differs + 1) + 1
    return f"… {other[shared:]}" if MIN_SHARED <= shared < len(other) else other


def format_who(item: Item, cells: int) -> str:
    """Format who recorded an item's newest entry, fitted into `cells` if possible; "–" if nobody knows.

    A dispute has both names: first names if the full ones do not fit, cut if these do not fit either.
    """
    if item.sides:
        full = [safe_line(name) for name in item.sides]
        first, other = full if cell_len(item.who) <= cells else [name.partition(" ")[0] for name in full]
        return format_two(first, other, cells)
    return safe_line(short_byline(item.agent, item.author, cells)) if item.who else "–"


class InboxList(LineList):
    """A list of items; each is unpacked when its line is drawn."""

    def show_items(self, items: Items, *, keep: str = "", top: bool = False) -> None:
        """Show these items, the cursor on the one with the id `keep`, else where it was, or at the `top`."""
        # No item has the id "?", so the cursor stays on its row.
        self.show(cast("Sequence[Row]", items), keep=keep or ("" if top else "?"))

    @property
    def item(self) -> Item | None:
        """The item under the cursor."""
        return cast("Item | None", self.current)

    def action_move(self, rows: int) -> None:
        """Move the cursor down (negative: up)."""
        self.cursor += rows

    def action_edge(self, bottom: bool) -> None:
        """Move the cursor to the first or last item."""
        self.cursor = len(self.rows) - 1 if bottom else 0

    def heading(self) -> str:
        """Return the headings of the columns for the current width."""
        return "".join(f"{name:<{cells - 1}} " for name, cells in self._headings(self.size.width)).rstrip()

    def _headings(self, width: int) -> list[tuple[str, int]]:
        columns = self._columns(width)
        title_cells = max(6, width - 2 - sum(columns.values()))
        kind = columns["kind"]
        found = [("", 3), ("kind" if kind > SIGN_CELLS else "", kind - 1), ("entry", title_cells)]
        names = {"who": "who", "age": "   age", "worth": "worth", "proposal": "proposed"}
        return [*found, *((names[name], cells) for name, cells in columns.items() if name in names)]

    def _columns(self, width: int) -> dict[str, int]:
        """Return the columns beside the titles and their cells: as many as leave the titles their room."""
        found = {"kind": SIGN_CELLS, "who": 0, "age": 0, "worth": 0, "proposal": PROPOSAL_CELLS}
        for name, (cells, least) in COLUMNS.items():
            if width - 2 - sum(found.values()) - cells < least:
                break
            found[name] += cells
        wider = WIDE_WHO_CELLS - WHO_CELLS
        if found["who"] and width - 2 - sum(found.values()) - wider >= WIDE_TITLES:
            found["who"] += wider
        return {name: cells for name, cells in found.items() if cells}

    def _row_strip(self, row: Row, width: int, chosen: bool) -> Strip:
        return super()._row_strip(cast("Row", self._line(cast("Item", row), width)), width, chosen)

    def _line(self, item: Item, width: int) -> Line:
        sign, label, style = LABELS[item.kind]
        columns = self._columns(width)
        room = max(6, width - 2 - sum(columns.values()) - 1)
        kind = f"{sign} {label}" if columns["kind"] > SIGN_CELLS else sign
        # Two titles also take the place of the name: the detail pane says who wrote each.
        is_pair = len(item.titles) == 2 and room < BOTH_TITLES <= room + columns.get("who", 0)
        room += columns["who"] if is_pair else 0
        parts = [Part(kind, style, columns["kind"]), Part(format_titles(item, room))]
        if "who" in columns and not is_pair:
            parts.append(Part(format_who(item, columns["who"] - 1), QUIET, columns["who"]))
        if "age" in columns:
            when = elapsed(self.now - item.at) if item.at else "–"
            parts.append(Part(f"{when:>{AGE_CELLS - 1}}", QUIET, AGE_CELLS))
        if "worth" in columns:
            parts.append(Part(f"{fraction(item.score):>{WORTH_CELLS - 1}}", QUIET, WORTH_CELLS))
        proposal = "look at it" if item.proposal == LOOK else item.proposal
        proposal = "open it" if item.kind == PROPOSAL else proposal
        parts.append(Part(proposal, QUIET if item.proposal == LOOK else GOOD, PROPOSAL_CELLS))
        return Line(item.id, tuple(parts))
