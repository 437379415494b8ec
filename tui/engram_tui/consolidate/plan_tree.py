"""The plan as a tree with boxes to tick: draws the lines that are visible and no others, however many steps there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.strip import Strip

from engram_tui.shell.sanitize import words
from engram_tui.widgets.entry_list import LoreList, fitted

if TYPE_CHECKING:
    from engram_tui.consolidate.plan_rows import Choices, PlanRow

BESIDE = 70  # cells from which what becomes of a step stands in a column of its own


class PlanTree(LoreList):
    """A list whose lines are those of a plan."""

    rows: Sequence[PlanRow]  # type: ignore[assignment]

    def __init__(self, choices: Choices, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.choices = choices

    @property
    def line(self) -> PlanRow | None:
        """The line under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def _row_strip(self, row: PlanRow, width: int, chosen: bool) -> Strip:  # type: ignore[override]
        base = self.rich_style
        if chosen:
            base = self.get_component_rich_style("lore--cursor" if self.has_focus else "lore--resting")
        quiet = self._over(base, "lore--quiet")
        label, detail = (words(text) for text in self.choices.label(row))
        open_sign = ("▾ " if self.choices.is_open(row.kind) else "▸ ") if row.is_kind else "    "
        head = f"{'▌' if chosen else ' '}{open_sign}{self.choices.sign(row)} "
        room = max(0, width - len(head))
        beside = min(48, room * 2 // 5) if width >= BESIDE and detail else 0
        parts = [
            Segment(head, base),
            Segment(fitted(label, room - beside), base if row.step or row.is_kind else quiet),
        ]
        if beside:
            parts.append(Segment(fitted(f" {detail}", beside), quiet))
        return Strip(parts).adjust_cell_length(width, base)
