"""Consolidation from survey to commit: propose steps, rehearse them on past queries, apply those that remain.

`plan` changes nothing; `apply` carries out a plan as one operation, which `engram undo` reverts.
"""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.domain.consolidation.plan import (
    ARCHIVE,
    MERGE,
    PROMOTE,
    SUPERSEDE,
    Difference,
    Plan,
    Rehearsal,
    Step,
    Unresolved,
    Withheld,
    check_kinds,
    choose,
    counts,
)
from engram.domain.entry import times
from engram.domain.entry.lore import ACTIVE, ARCHIVED, SUPERSEDED, Lore
from engram.domain.errors import ConflictError, LoreFileError, NotFoundError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.consolidation.proposals import promotion_from_session, propose
from engram.usecases.consolidation.replay import Replayer, open_replayer
from engram.usecases.consolidation.survey import Survey
from engram.usecases.consolidation.usefulness import helpful_ids, queries_to_ask
from engram.usecases.index.index_query import query_index
from engram.usecases.recording import promote
from engram.usecases.store import entry_writer, judgements
from engram.usecases.store.gc_pause import no_collections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.adapters.index.index import Generation
    from engram.domain.consolidation.usefulness import Answered
    from engram.usecases.store.store import Store

    Progress = Callable[[str], object]

CONSOLIDATION = "Engram-Consolidation"
_STATUS = {ARCHIVE: ARCHIVED, SUPERSEDE: SUPERSEDED}
_MAX_DIFFERENCES = 100
_MAX_TRAILERS = 100  # ids in the commit message; the commit has the paths of all


def plan(
    store: Store,
    *,
    kinds: Sequence[str] = (),
    skip: Sequence[str] = (),
    confirm: Sequence[str] = (),
    to: str = "",
    progress: Progress = str,
) -> Plan:
    """Propose steps, and withhold those that would cost a past query a helpful answer.

    `kinds` limits the kinds of steps (default: all). `skip` and `confirm` name steps by id, id prefix, or kind: those to
    leave out, and those to do that need confirmation. `to` is the scope that promotions are proposed to (default: user).
    Raises UsageError, NotFoundError, AmbiguousError, StoreError.
    """
    kinds = check_kinds(kinds)
    with store.lock, no_collections():
        return query_index(store, lambda found: _plan(store, found, kinds, skip, confirm, to, progress))


def _plan(
    store: Store,
    generation: Generation,
    kinds: Sequence[str],
    skip: Sequence[str],
    confirm: Sequence[str],
    to: str,
    progress: Progress,
) -> Plan:
    progress("reading the store")
    survey = Survey(store, generation, adopted=True)
    asked = queries_to_ask(survey)
    with open_replayer(store) as replayer:
        progress(f"asking {len(asked)} past queries")
        before = replayer.answers(asked)
        progress("looking for steps")
        steps, left = propose(survey, before, kinds, to)
        steps = list(choose(steps, skip, confirm))
        progress("asking past queries again")
        return _rehearse(survey, replayer, steps, left, before)


def _rehearse(
    survey: Survey,
    replayer: Replayer,
    steps: list[Step],
    left: Sequence[Unresolved],
    before: Mapping[str, Answered],
) -> Plan:
    """Withhold the steps that make a past query lose a helpful entry, and report how the others change the answers.

    Steps about the lost entry itself are withheld first, then steps about the entries shown before and after, then all.
    """
    helpful = helpful_ids(survey)
    chosen, withheld = _withhold_hiding([step for step in steps if step.selected], before, helpful)
    _apply_to_copy(survey, replayer, chosen)
    while True:
        after = replayer.answers(before)
        lost = _find_lost(before, after, chosen, helpful)
        if not lost or not chosen:
            break
        blamed = _find_steps_to_blame(lost, before, after, chosen) or {step.id: lost[0] for step in chosen}
        withheld += [Withheld(step, *blamed[step.id]) for step in chosen if step.id in blamed]
        _revert_on_copy(survey, replayer, [step for step in chosen if step.id in blamed])
        chosen = [step for step in chosen if step.id not in blamed]
    withheld_ids = {one.step.id for one in withheld}
    kept = tuple([step for step in steps if step.id not in withheld_ids])
    left_out = len(survey.usage.queries) - len(before)
    rehearsal = _compare_answers(before, after, chosen, left_out)
    return Plan(survey.now, kept, tuple(left), tuple(withheld), rehearsal)


def _withhold_hiding(
    steps: Sequence[Step], before: Mapping[str, Answered], helpful: set[str]
) -> tuple[list[Step], list[Withheld]]:
    """Withhold steps that hide a helpful entry of an answer: no query shows archived or superseded entries."""
    shown = {
        lore_id: query for query, answered in before.items() for lore_id in answered.ids if lore_id in helpful
    }
    chosen, withheld = [], []
    for step in steps:
        if step.kind in _STATUS and step.lore[0] in shown:
            withheld.append(Withheld(step, shown[step.lore[0]], step.lore[0]))
        else:
            chosen.append(step)
    return chosen, withheld


def _apply_to_copy(survey: Survey, replayer: Replayer, steps: Sequence[Step]) -> None:
    """Change the copied index as these steps would change the store."""
    files: dict[str, bytes | None] = {}
    for step in steps:
        if step.kind == MERGE or step.session:
            files |= {change.path: change.content for change in planned_changes(survey.store, step)}
    replayer.write(files)
    replayer.set_facts(
        {step.paths[0]: (_STATUS[step.kind], step.after) for step in steps if step.kind in _STATUS}
    )


def _revert_on_copy(survey: Survey, replayer: Replayer, steps: Sequence[Step]) -> None:
    """Revert these steps on the copied index."""
    files: dict[str, bytes | None] = {}
    for step in steps:
        if step.kind == MERGE:
            files |= {path: survey.store.files.read(path) for path in step.paths}
        elif step.session:
            files |= {
                change.path: survey.store.files.read_if_there(change.path)
                for change in planned_changes(survey.store, step)
            }
    replayer.write(files)
    replayer.set_facts({step.paths[0]: (ACTIVE, step.before) for step in steps if step.kind in _STATUS})


def _find_lost(
    before: Mapping[str, Answered], after: Mapping[str, Answered], steps: Sequence[Step], helpful: set[str]
) -> list[tuple[str, str]]:
    """Find the helpful entries that a query shows now but would not show any more, even merged into another."""
    merged_into = _merged_into(steps)
    return [
        (query, lore_id)
        for query, answered in before.items()
        for lore_id in answered.ids
        if lore_id in helpful and merged_into.get(lore_id, lore_id) not in after[query].ids
    ]


def _find_steps_to_blame(
    lost: Sequence[tuple[str, str]],
    before: Mapping[str, Answered],
    after: Mapping[str, Answered],
    steps: Sequence[Step],
) -> dict[str, tuple[str, str]]:
    """Map the steps to withhold to the query and the entry that they would lose."""
    about: dict[str, list[str]] = {}
    for step in steps:
        for lore_id in step.lore:
            about.setdefault(lore_id, []).append(step.id)
    found: dict[str, tuple[str, str]] = {}
    for query, lore_id in lost:
        nearby = [lore_id] if lore_id in about else [*after[query].ids, *before[query].ids]
        for nearby_id in nearby:
            for step_id in about.get(nearby_id, ()):
                found.setdefault(step_id, (query, lore_id))
    return found


def _compare_answers(
    before: Mapping[str, Answered], after: Mapping[str, Answered], steps: Sequence[Step], left_out: int
) -> Rehearsal:
    """Count how the answers change; an entry merged into another counts as that other."""
    merged_into = _merged_into(steps)
    by_kind: dict[str, int] = dict.fromkeys(("unchanged", "shorter", "longer", "changed"), 0)
    differences = []
    for query, answered in before.items():
        ids_after = after[query].ids
        kind = _kind_of_change(
            tuple([merged_into.get(lore_id, lore_id) for lore_id in answered.ids]), ids_after
        )
        by_kind[kind] += 1
        if kind != "unchanged":
            differences.append(Difference(query, answered.ids, ids_after))
    return Rehearsal(
        len(before), **by_kind, left_out=left_out, differences=tuple(differences[:_MAX_DIFFERENCES])
    )


def _kind_of_change(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    if before == after:
        return "unchanged"
    if len(before) == len(after):
        return "changed"
    return "shorter" if len(after) < len(before) else "longer"


def _merged_into(steps: Sequence[Step]) -> dict[str, str]:
    """Map each entry that a merge removes to the one that keeps it."""
    return {other: step.lore[0] for step in steps if step.kind == MERGE for other in step.lore[1:]}


class Consolidated(NamedTuple):
    """Applied steps by kind; `lore` has the ids that changed, `unchanged` counts steps that had been applied before."""

    done: dict[str, int]
    lore: tuple[str, ...]
    unchanged: int


def apply(store: Store, plan: Plan) -> Consolidated:
    """Carry out the selected steps of a plan as one commit, plus one commit in each scope promoted to.

    Idempotent: steps applied before are skipped. Raises ConflictError, before anything is written, if an entry was changed
    after the plan was made; StoreError.
    """
    with store.lock:
        entry_writer.check_writable(store)
        steps = [step for step in plan.steps if step.selected]
        changes: dict[str, list[Change]] = {step.id: planned_changes(store, step) for step in steps}
        elsewhere = [step for step in steps if step.kind == PROMOTE and not step.session]
        done = [step for step in steps if changes[step.id]]
        if done:
            _write(store, done, [change for step in done for change in changes[step.id]])
            _remember_promotions(store, [step for step in done if step.session])
        for to in dict.fromkeys(step.to for step in elsewhere):
            ids = [step.lore[0] for step in elsewhere if step.to == to]
            promoted = promote.promote(store, ids, to)
            new = {entry.lore.id for entry in promoted if entry.status != promote.UNCHANGED}
            done += [step for step in elsewhere if step.to == to and step.lore[0] in new]
        judgements.confirm_own(store, [step.result for step in done if step.kind == MERGE and step.result])
        lore = tuple(dict.fromkeys(lore_id for step in done for lore_id in step.lore))
        return Consolidated(counts(done), lore, len(steps) - len(done))


def planned_changes(store: Store, step: Step) -> list[Change]:
    """List the changes of a step to files of this store; none if it was applied before or changes another store.

    Raises ConflictError if an entry was changed after the step was planned.
    """
    if step.kind == PROMOTE:
        return _plan_promotion(store, step) if step.session else []
    try:
        raws = [store.files.read_if_there(path) for path in step.paths]
        as_planned = [raw is not None and atomic.digest(raw) for raw in raws] == [*step.digests]
        if as_planned:
            return [*_plan_changes(store, step)]
        if _was_applied(store, step, raws):
            return []
    except (NotFoundError, LoreFileError) as error:
        raise _changed_error(step) from error
    raise _changed_error(step)


def _plan_changes(store: Store, step: Step) -> list[Change]:
    path = step.paths[0]
    file = entry_writer.load(store, path)
    lore = file.lore
    if step.kind == MERGE:
        assert step.result is not None
        deletions = [
            Change(other, None, digest)
            for other, digest in zip(step.paths[1:], step.digests[1:], strict=True)
        ]
        return [_rewrite(store, path, file, step.result), *deletions]
    stamp = times.after(store.clock.now(), lore.updated_at)
    return [_rewrite(store, path, file, lore._replace(status=_STATUS[step.kind], updated_at=stamp))]


def _rewrite(store: Store, path: str, file: LoreFile, lore: Lore) -> Change:
    return Change(path, entry_writer.rewrite(store, file, lore), atomic.digest(file.raw))


def _plan_promotion(store: Store, step: Step) -> list[Change]:
    found = promotion_from_session(store, step)
    return [found.change] if found is not None and found.change is not None else []


def _was_applied(store: Store, step: Step, raws: Sequence[bytes | None]) -> bool:
    """Return whether the files show that the step was applied, whatever else was changed since."""
    if raws[0] is None:
        return False
    lore = entry_writer.load(store, step.paths[0]).lore
    if step.kind == MERGE:
        return all(raw is None for raw in raws[1:]) and {*step.lore[1:]} <= {*lore.merged_from}
    return lore.status == _STATUS[step.kind]


def _write(store: Store, steps: Sequence[Step], changes: Sequence[Change]) -> None:
    done = ", ".join(f"{kind} {count}" for kind, count in counts(steps).items())
    first = steps[0].result or entry_writer.load(store, steps[0].paths[0]).lore
    ids = list(dict.fromkeys(lore_id for step in steps for lore_id in step.lore))
    details = [("Engram-Lore", lore_id) for lore_id in ids[:_MAX_TRAILERS] if lore_id != first.id]
    details.append((CONSOLIDATION, done))
    entry_writer.write(
        store, [entry_writer.operation_for(store, first, f"consolidate: {done}", changes, details)]
    )


def _remember_promotions(store: Store, steps: Sequence[Step]) -> None:
    copied = [found for step in steps if (found := promotion_from_session(store, step)) is not None]
    promote.remember(store, copied)


def _changed_error(step: Step) -> ConflictError:
    return ConflictError(
        f"'{step.title}' was changed after the plan was made.",
        "Nothing was changed; plan again: engram consolidate",
    )
