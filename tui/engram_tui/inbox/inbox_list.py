"""The list of the Inbox: what waits, by whom, since when, what it is worth, and what Engram proposes."""

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
WIDE_WHO_CELLS, WIDE_TITLES = 24, 60  # a person and an agent, or two people, where titles keep so many cells
SIGN_CELLS, BOTH_TITLES = 2, 36  # a kind without its word; cells from which two titles are told apart
SHARED = 8  # characters that two titles begin with from which the second is cut to what differs
# Columns beside the titles, in the order in which they come in where a title has so many cells left.
COLUMNS = {
    "kind": (KIND_CELLS - SIGN_CELLS, 20),
    "who": (WHO_CELLS, 30),
    "age": (AGE_CELLS, 30),  # the item beside the list has it, too
    "worth": (WORTH_CELLS, 34),
}


def titles_of(item: Item, cells: int) -> str:
    """Format the titles of an item in so many cells: of two both, of more the first and how many others."""
    first, *others = [safe_line(title) for title in item.titles or (item.title,)]
    if len(others) == 1 and others[0] != first and cells >= BOTH_TITLES:
        return two_titles(first, others[0], cells)
    if not others:
        return first
    more = f" + {len(others)}"
    return f"{fit(first, min(cell_len(first), max(1, cells - len(more))))}{more}"


def two_titles(first: str, other: str, cells: int) -> str:
    """Return as much of both titles as so many cells hold: the first, and what differs in the other."""
    room = cells - 3
    if cell_len(first) + cell_len(other) > room:
        other = _without_shared(first, other)
    left = max(room // 2, room - cell_len(other))
    return f"{fit(first, min(left, cell_len(first)))} ⇄ {other}"


def _without_shared(first: str, other: str) -> str:
    """Return the other title without the words that both begin with, where they are many: the first one shows them."""
    alike = next((at for at, (one, two) in enumerate(zip(first, other, strict=False)) if one != two), 0)
    shared = other.rfind(" ", 0, alike + 1) + 1
    return f"… {other[shared:]}" if SHARED <= shared < len(other) else other


def who_of(item: Item, cells: int) -> str:
    """Return who recorded an item's newest entry, in so many cells if possible; "–" where nobody knows.

    Of a dispute both names: the first ones where the whole do not fit, cut alike where these do not.
    """
    if item.sides:
        whole = [safe_line(name) for name in item.sides]
        one, other = whole if cell_len(item.who) <= cells else [name.partition(" ")[0] for name in whole]
        return two_titles(one, other, cells)
    return safe_line(short_byline(item.agent, item.author, cells)) if item.who else "–"


class InboxList(LineList):
    """Draws items; each is made when its line is drawn."""

    def show_items(self, found: Items, *, keep: str = "", top: bool = False) -> None:
        """Show these items, the cursor on the one with the id `keep`, else where it was, or at the `top`."""
        self.show(cast("Sequence[Row]", found), keep=keep or ("" if top else "?"))

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
        """Return the headings of the columns, as wide as the list is now."""
        return "".join(f"{name:<{cells - 1}} " for name, cells in self._headings(self.size.width)).rstrip()

    def _headings(self, width: int) -> list[tuple[str, int]]:
        columns = self._columns(width)
        taken = 2 + sum(columns.values())
        kind = columns["kind"]
        found = [("", 3), ("kind" if kind > SIGN_CELLS else "", kind - 1), ("entry", max(6, width - taken))]
        names = {"who": "who", "age": "   age", "worth": "worth", "proposal": "proposed"}
        return [*found, *((names[name], cells) for name, cells in columns.items() if name in names)]

    def _columns(self, width: int) -> dict[str, int]:
        """Return the columns beside the titles and their cells: the next one only where the titles keep their room."""
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
        # Two titles also take the place of the name: the item itself says who wrote each.
        is_pair = len(item.titles) == 2 and room < BOTH_TITLES <= room + columns.get("who", 0)
        room += columns["who"] if is_pair else 0
        parts = [Part(kind, style, columns["kind"]), Part(titles_of(item, room))]
        if "who" in columns and not is_pair:
            parts.append(Part(who_of(item, columns["who"] - 1), QUIET, columns["who"]))
        if "age" in columns:
            when = elapsed(self.now - item.at) if item.at else "–"
            parts.append(Part(f"{when:>{AGE_CELLS - 1}}", QUIET, AGE_CELLS))
        if "worth" in columns:
            parts.append(Part(f"{fraction(item.score):>{WORTH_CELLS - 1}}", QUIET, WORTH_CELLS))
        proposal = "look at it" if item.proposal == LOOK else item.proposal
        proposal = "open it" if item.kind == PROPOSAL else proposal
        parts.append(Part(proposal, QUIET if item.proposal == LOOK else GOOD, PROPOSAL_CELLS))
        return Line(item.id, tuple(parts))
