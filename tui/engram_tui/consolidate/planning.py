"""Making a plan for what is chosen, and doing it: what the consolidate screen asks of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.domain.errors import NotFoundError
from engram_tui.shell.aside import own_handle
from engram_tui.shell.store_screen import Deed
from engram_tui.widgets.rows import count

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.consolidation.plan import Plan

WHILE_PLANNING = (
    "Looking for lore that say the same, that others took the place of,",
    "that nobody used for long, and that have proved themselves.",
    "Then past queries are asked again: none shall lose its answer.",
    "",
    "Nothing is changed before you say so.",
)


def planned(chosen: dict[str, bool], told: object, store: Engram) -> Plan:
    """A plan for these choices; those about steps that there are no longer are forgotten."""
    off, on = ([name for name, wanted in chosen.items() if wanted is is_on] for is_on in (False, True))
    try:
        return store.consolidate(skip=off, confirm=on, progress=told)  # type: ignore[arg-type]
    except NotFoundError:
        plan = store.consolidate()
        known = {step.id for step in (*plan.steps, *(one.step for one in plan.withheld))}
        off, on = ([name for name in names if name in known] for names in (off, on))
        return store.consolidate(skip=off, confirm=on, progress=told)  # type: ignore[arg-type]


def planned_apart(chosen: dict[str, bool], told: object, store: Engram) -> Plan:
    """The same while the screens ask other things: in a large store it takes seconds."""
    with own_handle(store) as own:
        return planned(chosen, told, own)


def apply_deed(plan: Plan) -> Deed:
    """Do the selected steps of a plan as one commit."""

    def work(store: Engram, _ids: tuple[str, ...]) -> str:
        done = store.apply(plan)
        told = ", ".join(f"{kind} {count(number)}" for kind, number in done.done.items())
        return f"{told or 'nothing was left to do'}"

    off = [step.id for step in plan.steps if not step.selected]
    on = [step.id for step in plan.selected if step.confirm]
    options = "".join(
        [*(f" --skip {name}" for name in off[:20]), *(f" --confirm {name}" for name in on[:20])]
    )
    return Deed("Consolidate", work, f"engram consolidate{options} --apply", repeats=False, about="step")
