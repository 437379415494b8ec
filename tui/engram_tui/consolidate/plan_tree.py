"""A consolidation plan as a tree with check boxes, and the choice of its steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from engram.domain.consolidation.plan import EFFECTS, KINDS, MERGE, Plan, Step, Unresolved, Withheld, counts
from engram.domain.text.counted_nouns import entries
from engram_tui.inbox.inbox_list import format_two
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import EntryList, fit
from engram_tui.widgets.format import count, fraction

TWO_COLUMNS = 70  # cells from which the effect of a step has a column of its own
FEW = 12  # steps up to which a kind is open at first
LEFT, WITHHELD = "left to you", "left out"


class PlanRow(NamedTuple):
    """A line of the tree with a unique `id`: a kind, a step of it, or something that the plan leaves out."""

    id: str
    kind: str
    step: Step | None = None
    left: Unresolved | None = None
    withheld: Withheld | None = None

    @property
    def is_kind(self) -> bool:
        """Whether it is the heading of a kind."""
        return self.step is None and self.left is None and self.withheld is None


class Choices:
    """The plan, which of its steps are selected, and which kinds are open."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.chosen: dict[str, bool] = {}  # whether the user selected a step, by id
        self.open: dict[str, bool] = {}  # whether the user opened or closed a kind

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps that can be selected."""
        return self.plan.steps if self.plan else ()

    def is_selected(self, step: Step) -> bool:
        """Return whether a step is to be applied."""
        return self.chosen.get(step.id, step.selected)

    @property
    def selected(self) -> list[Step]:
        """The steps to apply."""
        return [step for step in self.steps if self.is_selected(step)]

    @property
    def is_rehearsed(self) -> bool:
        """Whether the plan was rehearsed with exactly these steps."""
        return all(self.is_selected(step) == step.selected for step in self.steps)

    def replace_plan(self, plan: Plan) -> None:
        """Use another plan; keep the choices about steps that still exist."""
        self.plan = plan
        known = {step.id for step in plan.steps} | {withheld.step.id for withheld in plan.withheld}
        self.chosen = {step_id: selected for step_id, selected in self.chosen.items() if step_id in known}

    def toggle(self, row: PlanRow) -> None:
        """Select a step or remove its selection; of a kind, select all steps, or none if all are selected."""
        if row.step is not None:
            self.chosen[row.step.id] = not self.is_selected(row.step)
        elif row.is_kind:
            self._toggle_steps(self.steps_of(row.kind))

    def toggle_all(self) -> None:
        """Select every step that needs no confirmation, or none if all of these are selected."""
        self._toggle_steps([step for step in self.steps if not step.confirm])

    def _toggle_steps(self, steps: Sequence[Step]) -> None:
        selected = not all(self.is_selected(step) for step in steps)
        self.chosen.update({step.id: selected for step in steps})

    def steps_of(self, kind: str) -> list[Step]:
        """Return the steps of a kind."""
        return [step for step in self.steps if step.kind == kind]

    def is_open(self, kind: str) -> bool:
        """Return whether a kind is open."""
        return self.open.get(kind, self._size(kind) <= FEW)

    def rows(self) -> list[PlanRow]:
        """Return the visible lines of the tree."""
        if self.plan is None:
            return []
        found: list[PlanRow] = []
        for kind in (*KINDS, WITHHELD, LEFT):
            rows = self._rows_of(kind)
            if rows:
                found.append(PlanRow(kind, kind))
                found += rows if self.is_open(kind) else []
        return found

    def _rows_of(self, kind: str) -> list[PlanRow]:
        assert self.plan is not None
        if kind == LEFT:
            return [PlanRow(f"left {' '.join(left.lore)}", kind, left=left) for left in self.plan.left]
        if kind == WITHHELD:
            return [
                PlanRow(f"out {withheld.step.id}", kind, withheld=withheld) for withheld in self.plan.withheld
            ]
        return [PlanRow(step.id, kind, step) for step in self.steps_of(kind)]

    def _size(self, kind: str) -> int:
        return len(self._rows_of(kind)) if self.plan else 0

    def sign(self, row: PlanRow) -> str:
        """Return `[x]`, `[ ]`, `[-]` (some steps of a kind), or ⚠ for a line that cannot be selected."""
        if row.step is not None:
            return "[x]" if self.is_selected(row.step) else "[ ]"
        if row.kind in (LEFT, WITHHELD):
            return "   " if row.is_kind else " ⚠ "
        states = {self.is_selected(step) for step in self.steps_of(row.kind)}
        return "[-]" if len(states) > 1 else "[x]" if True in states else "[ ]"

    def label(self, row: PlanRow, cells: int = 10_000) -> tuple[str, str]:
        """Return the text of a line and the detail that follows it in dim; two titles are fitted into `cells`."""
        if row.step is not None:
            return step_label(row.step)
        if row.left is not None:
            cosine = fraction(round(row.left.cosine * 1000))
            titles = safe_line(row.left.title), safe_line(row.left.other)
            both = format_two(*titles, cells - 5) if titles[1] else titles[0]
            return f"{cosine}  {both}", row.left.why
        if row.withheld is not None:
            step, query = row.withheld.step, row.withheld.query
            return f"{step.kind}  “{step.title}”", f"answers “{query}” and was found helpful"
        return self._kind_label(row.kind)

    def _kind_label(self, kind: str) -> tuple[str, str]:
        number = self._size(kind)
        if kind == LEFT:
            return f"{LEFT}  {count(number)}", "they do not agree: m merges, or the Inbox"
        if kind == WITHHELD:
            return f"{WITHHELD}  {count(number)}", "a query would lose a helpful answer"
        steps = self.steps_of(kind)
        selected = [step for step in steps if self.is_selected(step)]
        label = count(number) if len(selected) == number else f"{count(len(selected))} of {count(number)}"
        if kind == MERGE:
            merged = sum(len(step.lore) for step in selected)
            label += f" group{'s' if number != 1 else ''}"
            label += f", {count(merged)} → {entries(len(selected))}" if selected else ""
        return f"{kind:<9} {label}", EFFECTS[kind]


def step_label(step: Step) -> tuple[str, str]:
    """Return the subject of a step, and its effect."""
    if step.kind == MERGE and step.result is not None:
        more = f" + {len(step.lore) - 1}"
        facts = [f"result: {fraction(step.after)}"]
        facts += [f"✓{step.result.validation_count}"] if step.result.validation_count else []
        facts += [f"{len(step.result.sources)} sources"] if len(step.result.sources) > 1 else []
        return f"{fraction(round(step.cosine * 1000))}  “{step.title}”{more}", " · ".join(facts)
    if step.before != step.after:
        return f"“{step.title}”", f"{fraction(step.before)} → {fraction(step.after)}"
    return f"“{step.title}”", f"to {step.to}" if step.to else step.why


def what_happens(steps: Collection[Step]) -> str:
    """Describe what applying these steps does."""
    numbers: Mapping[str, int] = counts(list(steps))
    parts = []
    for kind, number in numbers.items():
        merged = sum(len(step.lore) for step in steps if step.kind == kind)
        line = f"{entries(merged)} become {count(number)}" if kind == MERGE else entries(number)
        parts.append(f"{kind:<9}  {line}: {EFFECTS[kind]}")
    elsewhere = sorted({step.to for step in steps if step.to and not step.session})
    ending = f"\n\nOne commit here{''.join(f', one in {name}' for name in elsewhere)}; u undoes it."
    return "\n".join(parts) + ending


class PlanTree(EntryList):
    """The list of the lines of a plan."""

    rows: Sequence[PlanRow]  # type: ignore[assignment]

    def __init__(self, choices: Choices, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.choices = choices
        self._measured: tuple[object, int] = (None, 0)  # rows, and the cells of their longest label

    @property
    def line(self) -> PlanRow | None:
        """The line under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def _longest_label(self) -> int:
        """Return the cells of the longest label, as details stand to its right."""
        if self._measured[0] is not self.rows:
            longest = max((cell_len(safe_line(self.choices.label(row)[0])) for row in self.rows), default=0)
            self._measured = self.rows, longest + 1
        return self._measured[1]

    def _row_strip(self, row: PlanRow, width: int, chosen: bool) -> Strip:  # type: ignore[override]
        base = self.rich_style
        if chosen:
            base = self.get_component_rich_style("lore--cursor" if self.has_focus else "lore--resting")
        quiet = self._colour(base, "lore--quiet")
        open_sign = ("▾ " if self.choices.is_open(row.kind) else "▸ ") if row.is_kind else "    "
        head = f"{'▌' if chosen else ' '}{open_sign}{self.choices.sign(row)} "
        room = max(0, width - len(head))
        label, detail = (safe_line(text) for text in self.choices.label(row, room))
        needed = cell_len(detail) + 2 if detail else 0
        # A detail is shown if the label stays whole; the result of the line under the cursor has both.
        fits = width >= TWO_COLUMNS and 0 < needed <= room - cell_len(label) - 1
        detail_cells = max(needed, room - self._longest_label()) if fits else 0
        parts = [
            Segment(head, base),
            Segment(fit(label, room - detail_cells), base if row.step or row.is_kind else quiet),
        ]
        if detail_cells:
            parts.append(Segment(fit(f" {detail}", detail_cells), quiet))
        return Strip(parts).adjust_cell_length(width, base)
