"""Consolidation plans, changes and the review queue as agents see them: short, with every text neutralized.

The queue belongs to a person. An agent sees, and may decide about, only the items about lore that it may read. Entries
that wait for a person (pending, held), conflicts between clones and unreadable files are not shown.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcp_types import CallToolResult
from pydantic import BaseModel

from engram.domain.agents.framing import NOTICE, quote
from engram.domain.agents.neutralization import neutralize
from engram.domain.consolidation.plan import EFFECTS, KINDS, Plan, Step
from engram.domain.errors import NotFoundError, UsageError
from engram.domain.review.review import (
    CONTRADICTION,
    DUPLICATE,
    EDIT,
    JUNK,
    STALE,
    WEAK,
    Item,
    allowed_decisions,
    check_decision,
)
from engram.mcp.tools.tool import answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recording.promote import Promoted

REVIEWED = (CONTRADICTION, DUPLICATE, JUNK, STALE, WEAK)
_MOST_STEPS = 10  # in an answer, which counts the others
_MOST_IDS = 2000  # in one query
_READABLE = "SELECT id FROM lore WHERE id IN (SELECT value FROM json_each(:ids))"
_UNDO = "`engram undo` takes it back."


class PlannedStep(BaseModel):
    """A step of a plan; of its entries, the first is the one that stays."""

    id: str
    kind: str
    lore: list[str]
    title: str
    why: str


class Tidied(BaseModel):
    """A plan, or the result of one: the number of steps of each kind, and the first steps."""

    applied: bool
    counts: dict[str, int] = {}
    rehearsal: str = ""
    notice: str = ""
    steps: list[PlannedStep] = []
    more: int = 0
    left_to_people: int = 0
    lore: list[str] = []


class Copied(BaseModel):
    """An entry in another scope: copied, merged or unchanged."""

    id: str
    status: str
    scope: str


class Promotion(BaseModel):
    """The results of copying entries."""

    promoted: list[Copied] = []


class Changed(BaseModel):
    """An entry after a change; `pending` says why it waits for a person."""

    id: str
    category: str
    status: str
    tags: list[str] = []
    pending: str = ""


class QueueItem(BaseModel):
    """An item of the review queue, with the possible decisions."""

    id: str
    kind: str
    lore: list[str]
    title: str
    why: str
    proposal: str
    decisions: dict[str, str]


class Reviewed(BaseModel):
    """The items of the queue, or the result of a decision."""

    notice: str = ""
    items: list[QueueItem] = []
    total: int = 0
    decided: str = ""
    lore: list[str] = []


def describe_plan(plan: Plan) -> str:
    """Describe what a plan does, in words that fit after `this would`; "" for nothing."""
    counts = {kind: sum(step.kind == kind for step in plan.selected) for kind in KINDS}
    return ", ".join(f"{kind} {count} ({EFFECTS[kind]})" for kind, count in counts.items() if count)


def present_plan(plan: Plan, *, declined: bool = False) -> CallToolResult:
    """Present a plan that was not carried out."""
    if not plan.steps and not plan.withheld:
        return answer("Nothing to tidy up.", Tidied(applied=False))
    shown = [_step(step) for step in plan.selected[:_MOST_STEPS]]
    data = Tidied(
        applied=False, counts=plan.by_kind, rehearsal=plan.rehearsal.sentence, notice=NOTICE, steps=shown,
        more=len(plan.selected) - len(shown), left_to_people=len(plan.left) + len(plan.withheld),
    )  # fmt: skip
    head = "Nothing was changed: the user does not want it." if declined else "Nothing was changed yet."
    lines = [
        NOTICE,
        f"{head} Plan: {describe_plan(plan) or 'nothing'}; {data.rehearsal}.",
        *map(_step_text, shown),
    ]
    lines += [f"… {data.more} more steps"] if data.more else []
    lines += [f"{data.left_to_people} left to people: `engram consolidate`."] if data.left_to_people else []
    return answer("\n".join(lines), data)


def apply_plan(engram: Engram, plan: Plan) -> CallToolResult:
    """Carry out a plan, and present the result."""
    done = engram.apply(plan)
    undo = _UNDO if engram.store.places.owns_branch else ""
    data = Tidied(applied=True, counts=done.done, lore=list(done.lore[:_MOST_STEPS]))
    summary = ", ".join(f"{kind} {count}" for kind, count in done.done.items()) or "nothing was left to do"
    return answer(f"Done: {summary}. {undo}".rstrip(), data)


def present_promotion(done: Sequence[Promoted]) -> CallToolResult:
    """Present the results of copying entries to another scope."""
    rows = [Copied(id=promoted.lore.id, status=promoted.status, scope=promoted.to) for promoted in done]
    lines = [
        f"{row.id} {row.status}: {row.scope}\n{quote(promoted.lore.title)}"
        for row, promoted in zip(rows, done, strict=True)
    ]
    return answer("\n".join(lines), Promotion(promoted=rows))


def present_change(shown: Shown) -> CallToolResult:
    """Present an entry after a change."""
    lore = shown.lore
    tags = [neutralize(tag, is_checked=False) for tag in lore.tags]
    data = Changed(id=lore.id, category=lore.category, status=lore.status, tags=tags, pending=shown.pending)
    facts = [f"Changed {lore.id}", lore.category, lore.status, *([f"tags {', '.join(tags)}"] if tags else [])]
    waits = f"\nIt waits for a person: {shown.pending}." if shown.pending else ""
    return answer(f"{' · '.join(facts)}\n{quote(lore.title)}{waits}", data)


def present_queue(engram: Engram, kinds: Sequence[str], limit: int) -> CallToolResult:
    """Present the items that an agent may decide about, the most urgent first. Raises UsageError."""
    _check_kinds(kinds)
    found = _filter_readable(engram, engram.review(kinds=kinds or REVIEWED).items)
    if not found:
        return answer("Nothing waits.", Reviewed())
    rows = [_queue_item(item) for item in found[:limit]]
    lines = [NOTICE, f"{len(rows)} of {len(found)}", *map(_item_text, rows)]
    return answer("\n".join(lines), Reviewed(notice=NOTICE, items=rows, total=len(found)))


def describe_decision(engram: Engram, item: str, decision: str) -> str:
    """Describe a decision, in words that fit after `this would`. Raises NotFoundError, AmbiguousError, UsageError."""
    found = _find_item(engram, item)
    title = neutralize(found.title, is_checked=False)
    return f"{decision} {found.id}: {allowed_decisions(found.kind)[_check_decision(found, decision)]} (“{title}”)"


def apply_decision(engram: Engram, item: str, decision: str) -> CallToolResult:
    """Decide about an item, and present the result."""
    found = _find_item(engram, item)
    done = engram.decide(found, _check_decision(found, decision))
    decided = f"{decision}: {allowed_decisions(found.kind)[decision]}"
    return answer(f"{found.id} {decided}.", Reviewed(decided=decided, lore=list(done.lore)))


def _step(step: Step) -> PlannedStep:
    title, why = neutralize(step.title, is_checked=False), neutralize(step.why, is_checked=False)
    return PlannedStep(id=step.id, kind=step.kind, lore=list(step.lore), title=title, why=why)


def _step_text(step: PlannedStep) -> str:
    return f"{step.id} {step.kind} {' '.join(step.lore)}\n{quote(step.title)}\n{quote(step.why)}"


def _queue_item(item: Item) -> QueueItem:
    decisions = {name: what for name, what in allowed_decisions(item.kind).items() if name != EDIT}
    return QueueItem(
        id=item.id, kind=item.kind, lore=list(item.lore), title=neutralize(item.title, is_checked=False),
        why=neutralize(item.why, is_checked=False), proposal=item.proposal, decisions=decisions,
    )  # fmt: skip


def _item_text(item: QueueItem) -> str:
    decisions = "; ".join(f"{name}: {what}" for name, what in item.decisions.items())
    head = f"{item.id} {item.kind} {' '.join(item.lore)} · proposed {item.proposal}"
    return f"{head}\n{quote(item.title)}\n{quote(item.why)}\n{decisions}"


def _find_item(engram: Engram, name: str) -> Item:
    from engram.usecases.review.review import find_item

    found = find_item(engram.store, name)
    if found.kind not in REVIEWED or not _filter_readable(engram, [found]):
        raise NotFoundError(f"{found.id} waits for a person.", "A person can review it: `engram review`.")
    return found


def _check_decision(item: Item, decision: str) -> str:
    check_decision(item, "" if decision == EDIT else decision)
    return decision


def _check_kinds(kinds: Sequence[str]) -> None:
    for kind in kinds:
        if kind not in REVIEWED:
            raise UsageError(
                f"'{kind}' is not a kind that agents can review.", f"Kinds: {', '.join(REVIEWED)}."
            )


def _filter_readable(engram: Engram, items: Sequence[Item]) -> list[Item]:
    """Return the items whose lore an agent may read in full."""
    from engram.domain.explore.tables import Limits

    ids = list(dict.fromkeys(lore_id for item in items for lore_id in item.lore))
    readable: set[object] = set()
    for start in range(0, len(ids), _MOST_IDS):
        parameters = {"ids": json.dumps(ids[start : start + _MOST_IDS])}
        limits = Limits(_MOST_IDS, 100 * _MOST_IDS, 20.0)
        found = engram.execute(_READABLE, parameters, limits=limits, waiting=False)
        readable.update(row[0] for row in found.rows)
    return [item for item in items if item.lore and readable.issuperset(item.lore)]
