"""Carrying a consolidation plan out: all its files in one operation, which `engram undo` takes back."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.journal import Change
from engram.adapters.files.frontmatter import codec
from engram.domain.consolidation.consolidation import ARCHIVE, DECAY, MERGE, PROMOTE, SUPERSEDE, counts
from engram.domain.entry import times
from engram.domain.entry.decay import decayed
from engram.domain.entry.lore import ARCHIVED, SUPERSEDED
from engram.domain.errors import ConflictError, LoreFileError, NotFoundError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.consolidation import promotions
from engram.usecases.recording import promote
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.domain.consolidation.consolidation import Plan, Step
    from engram.usecases.store.store import Store

CONSOLIDATION = "Engram-Consolidation"
_STATUS = {ARCHIVE: ARCHIVED, SUPERSEDE: SUPERSEDED}
_NAMED = 100  # lore that the commit names; it has the paths of all


class Consolidated(NamedTuple):
    """What was done, by kind; `lore` are the ids that changed, `unchanged` counts steps that had been done before."""

    done: dict[str, int]
    lore: tuple[str, ...]
    unchanged: int


def apply(store: Store, plan: Plan) -> Consolidated:
    """Do the selected steps of a plan, as one commit (lore that go to another scope are one more there).

    A step that was done before is passed over, so doing a plan twice is doing it once. Raises ConflictError, before
    anything is written, where a lore was changed after the plan was made; StoreError.
    """
    with store.lock:
        entry_writer.check_writable(store)
        steps = [step for step in plan.steps if step.selected]
        changes: dict[str, list[Change]] = {step.id: contents(store, step) for step in steps}
        elsewhere = [step for step in steps if step.kind == PROMOTE and not step.session]
        done = [step for step in steps if changes[step.id]]
        if done:
            _write(store, done, [one for step in done for one in changes[step.id]])
            _remember(store, [step for step in done if step.session])
        for to in dict.fromkeys(step.to for step in elsewhere):
            ids = [step.lore[0] for step in elsewhere if step.to == to]
            promoted = promote.promote(store, ids, to)
            new = {one.lore.id for one in promoted if one.status != promote.UNCHANGED}
            done += [step for step in elsewhere if step.to == to and step.lore[0] in new]
        lore = tuple(dict.fromkeys(lore_id for step in done for lore_id in step.lore))
        return Consolidated(counts(done), lore, len(steps) - len(done))


def contents(store: Store, step: Step) -> list[Change]:
    """The files that a step changes in this store; none where it was done before, or it changes another store.

    Raises ConflictError where a lore is not what it was when the step was planned.
    """
    if step.kind == PROMOTE:
        return _copied(store, step) if step.session else []
    try:
        raws = [_read(store, path) for path in step.paths]
        as_planned = [raw is not None and atomic.digest(raw) for raw in raws] == [*step.digests]
        if as_planned:
            return [*_planned(store, step)]
        if _was_done(store, step, raws):
            return []
    except (NotFoundError, LoreFileError) as error:
        raise _changed(step) from error
    raise _changed(step)


def _planned(store: Store, step: Step) -> list[Change]:
    path = step.paths[0]
    file = entry_writer.load(store, path)
    lore = file.lore
    if step.kind == MERGE:
        assert step.result is not None
        gone = [
            Change(other, None, digest)
            for other, digest in zip(step.paths[1:], step.digests[1:], strict=True)
        ]
        return [_rewritten(store, path, file, step.result), *gone]
    if step.kind == DECAY:
        return [_rewritten(store, path, file, decayed(lore, step.accounts))]
    stamp = times.after(store.clock.now(), lore.updated_at)
    return [_rewritten(store, path, file, lore._replace(status=_STATUS[step.kind], updated_at=stamp))]


def _rewritten(store: Store, path: str, file: LoreFile, lore: object) -> Change:
    return Change(path, codec.rewrite(file, lore, store.categories), atomic.digest(file.raw))  # type: ignore[arg-type]


def _copied(store: Store, step: Step) -> list[Change]:
    found = promotions.copied(store, step)
    return [found.change] if found is not None and found.change is not None else []


def _was_done(store: Store, step: Step, raws: Sequence[bytes | None]) -> bool:
    """Whether the files are as the step leaves them, whatever else was changed since."""
    if raws[0] is None:
        return False
    lore = entry_writer.load(store, step.paths[0]).lore
    if step.kind == MERGE:
        return all(raw is None for raw in raws[1:]) and {*step.lore[1:]} <= {*lore.merged_from}
    if step.kind == DECAY:
        return all(
            lore.votes[name].up >= vote.up and lore.votes[name].down >= vote.down
            if name in lore.votes
            else False
            for name, vote in step.accounts.items()
        )
    return lore.status == _STATUS[step.kind]


def _read(store: Store, path: str) -> bytes | None:
    try:
        return store.files.read(path)
    except NotFoundError:
        return None


def _write(store: Store, steps: Sequence[Step], changes: Sequence[Change]) -> None:
    done = ", ".join(f"{kind} {count}" for kind, count in counts(steps).items())
    first = steps[0].result or entry_writer.load(store, steps[0].paths[0]).lore
    ids = list(dict.fromkeys(lore_id for step in steps for lore_id in step.lore))
    details = [("Engram-Lore", lore_id) for lore_id in ids[:_NAMED] if lore_id != first.id]
    details.append((CONSOLIDATION, done))
    entry_writer.write(
        store, [entry_writer.operation_for(store, first, f"consolidate: {done}", changes, details)]
    )


def _remember(store: Store, steps: Sequence[Step]) -> None:
    copied = [found for step in steps if (found := promotions.copied(store, step)) is not None]
    promote.remember(store, copied)


def _changed(step: Step) -> ConflictError:
    return ConflictError(
        f"'{step.title}' was changed after the plan was made.",
        "Nothing was changed; plan again: engram consolidate",
    )
