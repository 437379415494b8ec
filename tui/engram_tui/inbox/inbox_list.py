"""The list of the Inbox: what waits, by whom, since when, what it is worth, and what Engram proposes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

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
    STALE,
    WEAK,
    Item,
)
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.format import age, fraction
from engram_tui.widgets.line_list import BAD, GOOD, QUIET, WARN, Line, LineList, Part

if TYPE_CHECKING:
    from textual.strip import Strip

    from engram.usecases.review.items import Items
    from engram_tui.widgets.rows import Row

# A sign, a word and a colour for each kind; the colour only repeats what the word says.
LABELS = {
    PROBLEM: ("!", "problem", BAD), CONFLICT: ("●", "dispute", WARN), ENTITY: ("●", "entity", WARN),
    FOREIGN: ("▣", "foreign", BAD), PENDING: ("○", "pending", ""), CONTRADICTION: ("≠", "contradicts", WARN),
    DUPLICATE: ("≈", "duplicate", ""), JUNK: ("·", "junk", QUIET), STALE: ("△", "stale", QUIET),
    WEAK: ("▽", "weak", QUIET), MOMENT: ("·", "moment", QUIET),
}  # fmt: skip
KIND_CELLS, WHO_CELLS, AGE_CELLS, WORTH_CELLS, PROPOSAL_CELLS = 14, 11, 7, 6, 11
WITH_WHO, WITH_WORTH = 66, 78  # cells from which these columns fit


def titles_of(item: Item) -> str:
    """Format the titles of an item in a line: of two both, of more the first and how many others."""
    first, *others = [safe_line(title) for title in item.titles or (item.title,)]
    if len(others) == 1 and others[0] != first:
        return f"{first}  ⇄  {others[0]}"
    return f"{first}  + {len(others)}" if others else first


def who_of(item: Item) -> str:
    """Return who recorded an item's newest entry, "–" where nobody knows."""
    return safe_line(item.agent) or "–"


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
        return "".join(f"{name:<{cells - 1}} " for name, cells in self._headed(self.size.width)).rstrip()

    def _headed(self, width: int) -> list[tuple[str, int]]:
        columns = self._columns(width)
        taken = 2 + sum(columns.values())
        found = [("", 3), ("kind", KIND_CELLS - 1), ("entry", max(6, width - taken))]
        names = {"who": "who", "age": "   age", "worth": "worth", "proposal": "proposed"}
        return [*found, *((names[name], cells) for name, cells in columns.items() if name in names)]

    def _columns(self, width: int) -> dict[str, int]:
        found = {"kind": KIND_CELLS}
        found |= {"who": WHO_CELLS} if width >= WITH_WHO else {}
        found |= {"age": AGE_CELLS}
        found |= {"worth": WORTH_CELLS} if width >= WITH_WORTH else {}
        return found | {"proposal": PROPOSAL_CELLS}

    def _row_strip(self, row: Row, width: int, chosen: bool) -> Strip:
        return super()._row_strip(cast("Row", self._line(cast("Item", row), width)), width, chosen)

    def _line(self, item: Item, width: int) -> Line:
        sign, label, style = LABELS[item.kind]
        columns = self._columns(width)
        parts = [
            Part(f"{sign} {label}", style, KIND_CELLS),
            Part(titles_of(item)),
        ]
        if "who" in columns:
            parts.append(Part(who_of(item), QUIET, WHO_CELLS))
        when = age(self.now - item.at) if item.at else "–"
        parts.append(Part(f"{when:>{AGE_CELLS - 1}}", QUIET, AGE_CELLS))
        if "worth" in columns:
            parts.append(Part(f"{fraction(item.score):>{WORTH_CELLS - 1}}", QUIET, WORTH_CELLS))
        proposal = "look at it" if item.proposal == LOOK else item.proposal
        parts.append(Part(proposal, QUIET if item.proposal == LOOK else GOOD, PROPOSAL_CELLS))
        return Line(item.id, tuple(parts))
