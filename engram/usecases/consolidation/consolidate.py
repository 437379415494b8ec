"""Consolidation: a plan of steps, rehearsed against past queries. Nothing is changed here."""

from __future__ import annotations

from engram.domain.consolidation.consolidation import (
    ARCHIVE,
    DECAY,
    MERGE,
    PROMOTE,
    SUPERSEDE,
    Difference,
    Plan,
    Rehearsal,
    Withheld,
    check_kinds,
    choose,
)
from engram.domain.entry.lore import ACTIVE, ARCHIVED, SUPERSEDED
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.consolidation import decay, merges, promotions
from engram.usecases.consolidation.apply import contents
from engram.usecases.consolidation.replay import rehearsing
from engram.usecases.consolidation.survey import Look
from engram.usecases.consolidation.usefulness import helpful_ids, queries_to_ask, worths
from engram.usecases.index.catch_up import no_collections
from engram.usecases.index.index_query import consult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.adapters.index.generation import Generation
    from engram.domain.consolidation.consolidation import Left, Step
    from engram.domain.consolidation.usefulness import Answered
    from engram.usecases.consolidation import replay
    from engram.usecases.store.store import Store

    Progress = Callable[[str], object]

_SHOWN_DIFFERENCES = 100
_STATUS = {ARCHIVE: ARCHIVED, SUPERSEDE: SUPERSEDED}


def plan(
    store: Store,
    *,
    kinds: Sequence[str] = (),
    skip: Sequence[str] = (),
    confirm: Sequence[str] = (),
    to: str = "",
    progress: Progress = str,
) -> Plan:
    """What consolidation would do, after asking past queries of the store as it would be.

    `kinds` are the steps to look for (default: all); `skip` and `confirm` name steps (id, its start, or kind) to leave
    out, and to do that wait for somebody's word. `to` is the scope that lore are proposed to be promoted to (default:
    the user's own). Raises UsageError, NotFoundError, AmbiguousError, StoreError.
    """
    kinds = check_kinds(kinds)
    with store.lock, no_collections():
        return consult(store, lambda found: _plan(store, found, kinds, skip, confirm, to, progress))


def _plan(
    store: Store,
    generation: Generation,
    kinds: Sequence[str],
    skip: Sequence[str],
    confirm: Sequence[str],
    to: str,
    progress: Progress,
) -> Plan:
    progress("looking at the lore")
    look = Look(store, generation, adopted=True)
    asked = queries_to_ask(look)
    with rehearsing(store) as rehearsal:
        progress(f"asking {len(asked)} past queries")
        before = rehearsal.answers(asked)
        progress("looking for steps")
        steps, left = _steps(look, before, kinds, to)
        steps = list(choose(steps, skip, confirm))
        progress("asking past queries again")
        return _rehearsed(look, rehearsal, steps, left, before)


def _steps(
    look: Look, before: Mapping[str, Answered], kinds: Sequence[str], to: str
) -> tuple[list[Step], list[Left]]:
    """The steps in the order of KINDS; each lore is in the first that it fits."""
    old = decay.stale(look) if ARCHIVE in kinds else {}
    found, left = merges.merges(look, old, fades=DECAY in kinds) if MERGE in kinds else ([], [])
    if SUPERSEDE in kinds:
        found += merges.superseded(look)
    found += decay.archives(look, old)
    if PROMOTE in kinds:
        found += promotions.from_sessions(look)
        found += promotions.across(look, worths(look, before), to)
    if DECAY in kinds:
        found += decay.decays(look)
    return found, left


def _rehearsed(
    look: Look,
    rehearsal: replay.Rehearsal,
    steps: list[Step],
    left: Sequence[Left],
    before: Mapping[str, Answered],
) -> Plan:
    """The plan without steps for which a query would lose a lore that was found helpful; these are named.

    What a lost lore is itself about goes first, then what the lore are about that took its place, then all.
    """
    helpful = helpful_ids(look)
    chosen, withheld = _hiding_none([step for step in steps if step.selected], before, helpful)
    _carry_out(look, rehearsal, chosen)
    while True:
        after = rehearsal.answers(before)
        lost = _lost(before, after, chosen, helpful)
        if not lost or not chosen:
            break
        blamed = _blamed(lost, before, after, chosen) or {step.id: lost[0] for step in chosen}
        withheld += [Withheld(step, *blamed[step.id]) for step in chosen if step.id in blamed]
        _take_back(look, rehearsal, [step for step in chosen if step.id in blamed])
        chosen = [step for step in chosen if step.id not in blamed]
    out = {one.step.id for one in withheld}
    kept = tuple([step for step in steps if step.id not in out])
    left_out = len(look.usage.queries) - len(before)
    return Plan(look.now, kept, tuple(left), tuple(withheld), _compared(before, after, chosen, left_out))


def _hiding_none(
    steps: Sequence[Step], before: Mapping[str, Answered], helpful: set[str]
) -> tuple[list[Step], list[Withheld]]:
    """The steps without those that are bound to lose an answer: what is archived is shown by no query."""
    shown = {
        lore_id: query for query, answered in before.items() for lore_id in answered.ids if lore_id in helpful
    }
    bad = [step for step in steps if step.kind in _STATUS and step.lore[0] in shown]
    out = {step.id for step in bad}
    return [step for step in steps if step.id not in out], [
        Withheld(step, shown[step.lore[0]], step.lore[0]) for step in bad
    ]


def _carry_out(look: Look, rehearsal: replay.Rehearsal, steps: Sequence[Step]) -> None:
    """Have the copy as it would be after these steps."""
    files: dict[str, bytes | None] = {}
    for step in steps:
        if step.kind == MERGE or step.session:
            files |= {change.path: change.content for change in contents(look.store, step)}
    rehearsal.write(files)
    rehearsal.set_facts(
        {
            step.paths[0]: (_STATUS.get(step.kind, ACTIVE), step.after)
            for step in steps
            if step.kind in (ARCHIVE, SUPERSEDE, DECAY)
        }
    )


def _take_back(look: Look, rehearsal: replay.Rehearsal, steps: Sequence[Step]) -> None:
    """Have the copy as if these steps had not been."""
    files: dict[str, bytes | None] = {}
    for step in steps:
        if step.kind == MERGE:
            files |= {path: look.store.files.read(path) for path in step.paths}
        elif step.session:
            files |= {change.path: _there(look.store, change.path) for change in contents(look.store, step)}
    rehearsal.write(files)
    rehearsal.set_facts(
        {step.paths[0]: (ACTIVE, step.before) for step in steps if step.kind in (ARCHIVE, SUPERSEDE, DECAY)}
    )


def _there(store: Store, path: str) -> bytes | None:
    try:
        return store.files.read(path)
    except EngramError:
        return None


def _lost(
    before: Mapping[str, Answered], after: Mapping[str, Answered], steps: Sequence[Step], helpful: set[str]
) -> list[tuple[str, str]]:
    """Queries with the helpful lore that they show now and would not show, nor one that took it in."""
    host = _hosts(steps)
    return [
        (query, lore_id)
        for query, answered in before.items()
        for lore_id in answered.ids
        if lore_id in helpful and host.get(lore_id, lore_id) not in after[query].ids
    ]


def _blamed(
    lost: Sequence[tuple[str, str]],
    before: Mapping[str, Answered],
    after: Mapping[str, Answered],
    steps: Sequence[Step],
) -> dict[str, tuple[str, str]]:
    """The steps to leave out, with the query and lore on whose account."""
    about: dict[str, list[str]] = {}
    for step in steps:
        for lore_id in step.lore:
            about.setdefault(lore_id, []).append(step.id)
    found: dict[str, tuple[str, str]] = {}
    for query, lore_id in lost:
        nearby = [lore_id] if lore_id in about else [*after[query].ids, *before[query].ids]
        for one in nearby:
            for step_id in about.get(one, ()):
                found.setdefault(step_id, (query, lore_id))
    return found


def _compared(
    before: Mapping[str, Answered], after: Mapping[str, Answered], steps: Sequence[Step], left_out: int
) -> Rehearsal:
    """What became of the answers; a lore that another took in is that other one."""
    host = _hosts(steps)
    told: dict[str, int] = dict.fromkeys(("unchanged", "shorter", "longer", "changed"), 0)
    differences = []
    for query, answered in before.items():
        then = after[query].ids
        same = tuple([host.get(lore_id, lore_id) for lore_id in answered.ids])
        kind = _kind(same, then)
        told[kind] += 1
        if kind != "unchanged":
            differences.append(Difference(query, answered.ids, then))
    return Rehearsal(
        len(before), **told, left_out=left_out, differences=tuple(differences[:_SHOWN_DIFFERENCES])
    )


def _kind(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    if before == after:
        return "unchanged"
    if len(before) == len(after):
        return "changed"
    return "shorter" if len(after) < len(before) else "longer"


def _hosts(steps: Sequence[Step]) -> dict[str, str]:
    return {other: step.lore[0] for step in steps if step.kind == MERGE for other in step.lore[1:]}
