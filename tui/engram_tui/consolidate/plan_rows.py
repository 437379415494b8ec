"""A consolidation plan as the lines of a tree, and what is chosen of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from engram.domain.consolidation.plan import EFFECTS, KINDS, MERGE, Plan, Step, Unresolved, Withheld, counts
from engram_tui.widgets.rows import count, fraction

FEW = 12  # steps of a kind that are shown without being asked for
LEFT, WITHHELD = "left to you", "left out"


class PlanRow(NamedTuple):
    """A line of the tree: a kind, or a step of it, or something that the plan does not do. `id` is unique."""

    id: str
    kind: str
    step: Step | None = None
    left: Unresolved | None = None
    withheld: Withheld | None = None

    @property
    def is_kind(self) -> bool:
        """Whether it stands for all that are under it."""
        return self.step is None and self.left is None and self.withheld is None


class Choices:
    """The plan, which of its steps are taken, and which kinds are open."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.chosen: dict[str, bool] = {}  # steps of which somebody said so
        self.open: dict[str, bool] = {}  # kinds of which somebody said so

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps that could be taken."""
        return self.plan.steps if self.plan else ()

    def takes(self, step: Step) -> bool:
        """Whether a step is to be done."""
        return self.chosen.get(step.id, step.selected)

    @property
    def selected(self) -> list[Step]:
        """The steps to be done."""
        return [step for step in self.steps if self.takes(step)]

    @property
    def is_rehearsed(self) -> bool:
        """Whether the plan's rehearsal was of just these steps."""
        return all(self.takes(step) == step.selected for step in self.steps)

    def replaced(self, plan: Plan) -> None:
        """Another plan: what was said of steps that are there still counts."""
        self.plan = plan
        known = {step.id for step in plan.steps} | {one.step.id for one in plan.withheld}
        self.chosen = {name: on for name, on in self.chosen.items() if name in known}

    def toggle(self, row: PlanRow) -> None:
        """Take a step or leave it; of a kind all, unless all are taken."""
        if row.step is not None:
            self.chosen[row.step.id] = not self.takes(row.step)
        elif row.is_kind:
            steps = self.of(row.kind)
            on = not all(self.takes(step) for step in steps)
            self.chosen.update({step.id: on for step in steps})

    def take_all(self) -> None:
        """Every step that waits for nobody's word; where all of these are taken, none."""
        free = [step for step in self.steps if not step.confirm]
        on = not all(self.takes(step) for step in free)
        self.chosen.update({step.id: on for step in free})

    def of(self, kind: str) -> list[Step]:
        """The steps of a kind."""
        return [step for step in self.steps if step.kind == kind]

    def is_open(self, kind: str) -> bool:
        """Whether what is under a kind is shown."""
        return self.open.get(kind, self._size(kind) <= FEW)

    def rows(self) -> list[PlanRow]:
        """The lines of the tree as it is open now."""
        if self.plan is None:
            return []
        found: list[PlanRow] = []
        for kind in (*KINDS, WITHHELD, LEFT):
            under = self._under(kind)
            if under:
                found.append(PlanRow(kind, kind))
                found += under if self.is_open(kind) else []
        return found

    def _under(self, kind: str) -> list[PlanRow]:
        assert self.plan is not None
        if kind == LEFT:
            return [PlanRow(f"left {' '.join(one.lore)}", kind, left=one) for one in self.plan.left]
        if kind == WITHHELD:
            return [PlanRow(f"out {one.step.id}", kind, withheld=one) for one in self.plan.withheld]
        return [PlanRow(step.id, kind, step) for step in self.of(kind)]

    def _size(self, kind: str) -> int:
        return len(self._under(kind)) if self.plan else 0

    def sign(self, row: PlanRow) -> str:
        """`[x]`, `[ ]`, `[-]` (some of a kind); what cannot be taken has ⚠."""
        if row.step is not None:
            return "[x]" if self.takes(row.step) else "[ ]"
        if row.kind in (LEFT, WITHHELD):
            return "   " if row.is_kind else " ⚠ "
        taken = {self.takes(step) for step in self.of(row.kind)}
        return "[-]" if len(taken) > 1 else "[x]" if True in taken else "[ ]"

    def label(self, row: PlanRow) -> tuple[str, str]:
        """What a line says, and what follows in a quieter voice."""
        if row.step is not None:
            return step_label(row.step)
        if row.left is not None:
            return f"{fraction(round(row.left.cosine * 1000))}  “{row.left.title}”", row.left.why
        if row.withheld is not None:
            one = row.withheld
            return f"{one.step.kind}  “{one.step.title}”", f"answers “{one.query}” and was found helpful"
        return self._kind_label(row.kind)

    def _kind_label(self, kind: str) -> tuple[str, str]:
        number = self._size(kind)
        if kind == LEFT:
            return f"{LEFT}  {count(number)}", "as near, but they do not agree: m merges, Review decides"
        if kind == WITHHELD:
            return f"{WITHHELD}  {count(number)}", "a query would lose a helpful answer"
        steps = self.of(kind)
        taken = [step for step in steps if self.takes(step)]
        told = count(number) if len(taken) == number else f"{count(len(taken))} of {count(number)}"
        if kind == MERGE:
            lore = sum(len(step.lore) for step in taken)
            told += f" group{'s' if number != 1 else ''}{f', {count(lore)} → {count(len(taken))} lore' if taken else ''}"
        return f"{kind:<9} {told}", EFFECTS[kind]


def step_label(step: Step) -> tuple[str, str]:
    """What a step is about, and what becomes of it."""
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
    """What applying these steps does, in words."""
    told: Mapping[str, int] = counts(list(steps))
    parts = []
    for kind, number in told.items():
        lore = sum(len(step.lore) for step in steps if step.kind == kind)
        line = f"{count(lore)} lore become {count(number)}" if kind == MERGE else f"{count(number)} lore"
        parts.append(f"{kind:<9}  {line}: {EFFECTS[kind]}")
    elsewhere = sorted({step.to for step in steps if step.to and not step.session})
    ending = f"\n\nOne commit here{''.join(f', one in {name}' for name in elsewhere)}; u takes it back."
    return "\n".join(parts) + ending
