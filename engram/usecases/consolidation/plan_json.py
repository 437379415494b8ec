"""The JSON of a consolidation, for the command line and the HTTP API."""

from __future__ import annotations

from engram.domain.admission.credit import as_dict
from engram.domain.entry.times import render, whole_seconds
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission import credit

if TYPE_CHECKING:
    from engram.domain.consolidation.plan import Plan, Step
    from engram.usecases.consolidation.consolidate import Consolidated
    from engram.usecases.store.store import Store


def plan_json(store: Store, plan: Plan) -> dict[str, object]:
    """Return a plan as JSON: its steps, those left out and why, and the answers of past queries."""
    rehearsal = plan.rehearsal._asdict()
    rehearsal["differences"] = [difference._asdict() for difference in plan.rehearsal.differences]
    return {
        "made_at": render(whole_seconds(plan.made_at)),
        "steps": [_step_json(store, step) for step in plan.steps],
        "by_kind": plan.by_kind,
        "left": [left._asdict() for left in plan.left],
        "withheld": [
            {"step": _step_json(store, withheld.step), "query": withheld.query, "lore": withheld.lore}
            for withheld in plan.withheld
        ],
        "rehearsal": rehearsal,
    }


def applied_json(done: Consolidated | None) -> dict[str, object] | None:
    """Return the applied steps as JSON, None if the plan was only shown."""
    if done is None:
        return None
    return {"done": done.done, "lore": list(done.lore), "unchanged": done.unchanged}


def _step_json(store: Store, step: Step) -> dict[str, object]:
    return {
        "id": step.id,
        "kind": step.kind,
        "lore": list(step.lore),
        "paths": list(step.paths),
        "title": step.title,
        "why": step.why,
        "confidence": {"previous": step.before / 1000, "current": step.after / 1000},
        "result": step.result and as_dict(step.result, step.paths[0], credit.of(store, step.result)),
        "cosine": step.cosine or None,
        "months": [],
        "to": step.to or None,
        "confirm": step.confirm,
        "selected": step.selected,
    }
