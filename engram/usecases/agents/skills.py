"""List skills, find the best one for a task, and run its query; the outcome counts for the next choice."""

from __future__ import annotations

from types import MappingProxyType

from engram.adapters.state.activity_sums import LiveSums
from engram.domain.agents.skills import NEVER, TAG, Record, is_skill, query_of
from engram.domain.entry.categories import PROCEDURAL
from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.errors import EngramError, UsageError
from engram.domain.explore import sql_text
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.explore.sql_query import execute
from engram.usecases.lookup.listing import get, list_lore
from engram.usecases.recall.query import Question, query
from engram.usecases.store import activity_log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.domain.explore.tables import Table
    from engram.usecases.store.store import Store

    Values = Mapping[str, object]

ACTION = "skill"
NONE: Values = MappingProxyType({})
_CANDIDATES = 5  # matching skills among which the most successful is chosen


class Skill(NamedTuple):
    """A skill: its entry, the query in it ("" for a recipe), and its record on this machine.

    If the query was run, `result` is its result, `error` the reason for a failure, `took_ms` the duration.
    """

    lore: Lore
    ref: str
    scope: str
    query: str
    record: Record
    result: Table | None = None
    error: str = ""
    took_ms: float | None = None


def skills(store: Store) -> list[Skill]:
    """Return the active skills of this store, the most successful first. Raises StoreError."""
    shown = list_lore(store, limit=None, status=ACTIVE, tags=(TAG,)).lore
    records = _records(store)
    found = [
        Skill(one.lore, one.ref, one.scope, query_of(one.lore.content), records.get(one.lore.id, NEVER))
        for one in shown
        if is_skill(one.lore)
    ]
    return sorted(found, key=lambda skill: (-skill.record.factor, -skill.lore.thousandths, skill.lore.id))


def recall_skill(
    store: Store, task: str, *, run: bool = False, parameters: Values = NONE, waiting: bool = True
) -> Skill | None:
    """Return the best skill for a task, from all scopes; None if none matches. With `run`, run its query on this store.

    Raises UsageError, ValidationError.
    """
    answer = query(store, Question(task, _CANDIDATES, types=(PROCEDURAL,), tags=(TAG,)))
    records = _records(store) if answer.lore else {}
    best = max(
        answer.lore, key=lambda hit: hit.score.total * records.get(hit.lore.id, NEVER).factor, default=None
    )
    if best is None:
        return None
    record = records.get(best.lore.id, NEVER)
    skill = Skill(best.lore, best.ref, best.scope, query_of(best.lore.content), record)
    if not (run and skill.query):
        return skill
    return note_run(store, run_query(store, skill, parameters, waiting=waiting))


def run_skill(store: Store, name: str, parameters: Values = NONE) -> Skill:
    """Run the query of the named skill on this store. Raises NotFoundError, AmbiguousError, UsageError for one without."""
    shown = get(store, name)
    skill = Skill(shown.lore, shown.ref, shown.scope, query_of(shown.lore.content), NEVER)
    if not is_skill(shown.lore):
        raise UsageError(
            f"{shown.lore.id} is not a skill.", f"Skills are procedural lore with the tag '{TAG}'."
        )
    if not skill.query:
        raise UsageError(
            f"{shown.lore.id} is a recipe without a query.",
            "Read it: `engram show`. A query is a fenced block of sql.",
        )
    record = _records(store).get(shown.lore.id, NEVER)
    skill = skill._replace(record=record)
    return note_run(store, run_query(store, skill, parameters, waiting=True))


def run_query(store: Store, skill: Skill, parameters: Values, *, waiting: bool) -> Skill:
    """Return the skill with the result or error of its query; see `note_run`."""
    missing = [name for name in sql_text.parameters(skill.query) if name not in parameters]
    if missing:
        return skill._replace(error=f"It needs a value for {', '.join(missing)}.")
    began = store.clock.nanoseconds()
    try:
        done = skill._replace(result=execute(store, skill.query, parameters, waiting=waiting))
    except EngramError as error:
        done = skill._replace(error=f"{error.message} {error.hint}".strip())
    return done._replace(took_ms=activity_log.milliseconds_since(store, began))


def note_run(store: Store, skill: Skill) -> Skill:
    """Log the outcome of a run, if it began, in the activity log; return the skill with the outcome counted."""
    if skill.took_ms is None:
        return skill
    succeeded = int(skill.result is not None)
    details = {"runs": 1, "successes": succeeded}
    activity_log.note(store, ACTION, ids=[skill.lore.id], took_ms=skill.took_ms, details=details)
    return skill._replace(record=Record(skill.record.runs + 1, skill.record.successes + succeeded))


def _records(store: Store) -> dict[str, Record]:
    """Return the records of skills, by id."""
    with store.lock:
        found = LiveSums(store.session_state).outcomes(ACTION)
    return {lore_id: Record(*counts) for lore_id, counts in found.items()}
