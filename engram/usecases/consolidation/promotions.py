"""Steps of consolidation that bring lore which proved its worth to where more people see it.

What a session learned comes into the store around it; what this store holds goes to another scope when somebody says so.
"""

from __future__ import annotations

from engram.adapters.files import scan
from engram.domain.consolidation.consolidation import PROMOTE, Step
from engram.domain.consolidation.usefulness import PROMOTED_FROM, PROMOTED_USES, importance
from engram.domain.entry.lore import ACTIVE
from engram.domain.errors import EngramError
from engram.domain.review.review import item_id
from engram.domain.scopes import SESSION, USER, checked_scope
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.index_query import consult
from engram.usecases.lookup.hits import hits_of
from engram.usecases.lookup.resolve import Found
from engram.usecases.opening import scopes
from engram.usecases.opening.session_store import session_stores
from engram.usecases.recording import promote
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.domain.consolidation.usefulness import Worth
    from engram.domain.entry.lore import Lore
    from engram.usecases.consolidation.survey import Look
    from engram.usecases.store.store import Store


def from_sessions(look: Look) -> list[Step]:
    """Lore of sessions that were used and are important, and that this store does not have as they are."""
    store = look.store
    if store.places.root != store.stand.root or store.places.scope == SESSION:
        return []
    used = {lore_id for lore_id, count in look.usage.shown.items() if count >= PROMOTED_USES}
    steps: dict[str, Step] = {}
    for session in session_stores(store) if used else ():
        try:
            for path, lore in _used_lore(session, used):
                step = _from_session(look, session, path, lore) if lore.id not in steps else None
                if step is not None:
                    steps[lore.id] = step
        finally:
            session.close()
    look.taken.update(steps)
    return [steps[lore_id] for lore_id in sorted(steps)]


def across(look: Look, worth: Mapping[str, Worth], to: str) -> list[Step]:
    """Lore of this store that are worth having in the scope `to`: only when somebody confirms it."""
    store = look.store
    target = checked_scope(store.settings, to) if to else USER
    if target in (SESSION, store.places.scope) or not (to or scopes.exists(store, target)):
        return []
    wanted = [
        lore_id
        for lore_id, known in sorted(worth.items())
        if known.importance >= PROMOTED_FROM and known.shown >= PROMOTED_USES and lore_id not in look.taken
    ]
    there = scopes.exists(store, target)
    known_there = consult(scopes.reach(store, target), lambda found: hits_of(found, wanted)) if there else {}
    steps = []
    for lore_id in wanted:
        hit, known = look.hits[lore_id], worth[lore_id]
        if lore_id in known_there:
            continue
        why = (
            f"importance {known.importance:.2f}, shown {known.shown} times; to {target}, when you confirm it"
        )
        steps.append(
            Step(
                item_id(PROMOTE, [lore_id, target]), PROMOTE, (lore_id,), (hit.path,), (look.digests[lore_id],),
                hit.title, why, hit.confidence, hit.confidence, to=target, confirm=True, selected=False,
            )
        )  # fmt: skip
    return steps


def copied(store: Store, step: Step) -> promote.Step | None:
    """What copying a session's lore into the store comes to; None where the session is gone. Raises as `promote`."""
    for session in session_stores(store):
        try:
            if session.places.root == step.session:
                return promote.step_for(Found(step.lore[0], step.paths[0], "", session), store)
        finally:
            session.close()
    return None


def _used_lore(session: Store, used: set[str]) -> Iterator[tuple[str, Lore]]:
    for path in sorted(scan.scan(session.places.root, session.places.folder).files):
        try:
            lore = entry_writer.load(session, path).lore
        except EngramError:
            continue
        if lore.id in used and lore.status == ACTIVE:
            yield path, lore


def _from_session(look: Look, session: Store, path: str, lore: Lore) -> Step | None:
    shown = look.usage.shown[lore.id]
    found = importance(lore.importance, pinned=lore.pinned, helpful=lore.validation_count, shown=shown)
    if found < PROMOTED_FROM:
        return None
    try:
        promoted = promote.step_for(Found(lore.id, path, "", session), look.store)
    except EngramError:  # its category, or a secret: `engram promote` says what is wrong
        return None
    if promoted.change is None:
        return None
    return Step(
        item_id(PROMOTE, [lore.id, look.store.places.scope]), PROMOTE, (lore.id,), (path,), (promote.digest_of(promoted),),
        lore.title, f"importance {found:.2f}, shown {shown} times; out of a session", lore.thousandths,
        promoted.promoted.lore.thousandths, promoted.promoted.lore, to=look.store.places.scope, session=session.places.root,
    )  # fmt: skip
