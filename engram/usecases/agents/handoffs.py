"""Handoffs: entries that the receiving agent is shown once, when it next starts or asks for context."""

from __future__ import annotations

from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.errors import EngramError, UsageError
from engram.domain.graph.team import ANYBODY, HANDED_OVER, HANDOFF, TAKEN_OVER, handoff_receiver, tag_for
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import query_index
from engram.usecases.store import activity_log
from engram.usecases.store.quarantine import without_quarantined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.recording.record import Recorded
    from engram.usecases.store.store import Store

CATEGORY = "CONTEXT_NOTE"
MOST = 20
MOST_AT_ONCE = 5  # the others wait for the next time
_OPEN = (
    "status = 'active' AND row IN (SELECT row FROM row_tags WHERE tag = ?)"
    " AND row NOT IN (SELECT row FROM row_tags WHERE tag = ?)"
)
_FOR = " AND row IN (SELECT row FROM row_tags WHERE tag IN (?, ?))"


class Handoff(NamedTuple):
    """An open handoff: its entry and path, the giver and receiver ("": anybody), and its scope."""

    lore: Lore
    path: str
    giver: str
    receiver: str
    scope: str


def handoff(
    store: Store,
    summary: str,
    *,
    to: str = ANYBODY,
    giver: str = "",
    topic: str = "",
    files: Sequence[str] = (),
) -> Recorded:
    """Record a handoff to an agent, or to whichever comes next.

    Raises UsageError, ValidationError, SecretFoundError, NotAllowedError, StoreError.
    """
    from engram.usecases.recording import record as recording

    giver = giver or store.caller.who
    to, topic = to.strip(), " ".join(topic.split())
    for name in (to, giver):
        if len(name) > 100 or not name.isprintable():
            raise UsageError("The name of an agent is one line of at most 100 characters.")
    if to == giver:
        raise UsageError(f"{to} cannot hand over to itself.", "Name another agent, or none for anybody.")
    if not summary.strip():
        raise UsageError("There is nothing to hand over.", "Say what was done and what is left.")
    title = f"Handoff from {giver} to {to or 'anybody'}" + (f": {topic}" if topic else "")
    draft = recording.Draft(
        f"{title}\n\n{summary.strip()}", CATEGORY, tags=(HANDOFF, tag_for(to)), files=tuple(files), agent=giver,
        keys={"session": store.caller.session},
    )  # fmt: skip
    return recording.record(store, draft)


def open_handoffs(store: Store, agent: str | None = None, limit: int = MOST) -> list[Handoff]:
    """Return the open handoffs, the oldest first: all of them, or those for `agent` and for anybody.

    An agent's own handoffs to anybody are not for itself.
    """
    where, values = _OPEN, [HANDOFF, TAKEN_OVER]
    if agent is not None:
        where, values = where + _FOR, [*values, tag_for(agent), tag_for(ANYBODY)]
    tail = "ORDER BY created_at, id"
    with store.lock:
        hits = query_index(store, lambda generation: generation.catalog.select(where, values, tail))
        found: list[Handoff] = []
        for hit in without_quarantined(store, hits):
            if len(found) < limit and (agent is None or hit.agent != agent):
                found += _read(store, hit.path)
        return found


def handoffs_for(store: Store, agent: str, scope: str = "") -> list[Handoff]:
    """Return the handoffs to show to an agent: of the named scope, else of the current store and the agent's default scope.

    Raises UsageError, and NotFoundError for an unknown scope.
    """
    from engram.usecases.graph.agent_profiles import stores_of_agent
    from engram.usecases.opening.scopes import open_scope_of

    stores = [open_scope_of(store, scope)] if scope else stores_of_agent(store, agent)
    found = [one for each in stores for one in open_handoffs(each, agent, MOST_AT_ONCE)]
    return sorted(found, key=lambda one: (one.lore.created_at, one.lore.id))[:MOST_AT_ONCE]


def for_session_start(store: Store, agent: str, budget: int) -> str:
    """Frame the handoffs to an agent that starts a session, and mark them as taken over; "" for none.

    Those that do not fit into `budget` tokens wait for the next session.
    """
    from engram.domain.agents import fence
    from engram.usecases.agents import shown_entries
    from engram.usecases.agents.auto_recall import fit

    with store.lock:
        handed = handoffs_for(store, agent)
        if not handed:
            return ""
        elsewhere = {one.lore.id: one.scope for one in handed if one.scope != store.places.scope}
        room = fence.room(budget, HANDED_OVER)
        fitted = fit(store, [one.lore for one in handed], room, elsewhere)
        ids = [one.id for one in fitted.items]
        framed = fence.frame(fitted.items, HANDED_OVER, fitted.also)
        take_over(store, [one for one in handed if one.lore.id in ids])
        shown_entries.mark(store, fitted.items)
        activity_log.note(store, "brief", ids=ids, tokens=tokens(framed), details={"handoffs": len(ids)})
        return framed


def take_over(store: Store, taken: Sequence[Handoff]) -> list[str]:
    """Mark handoffs as taken over, so that they are not shown again; return the ids of those for which that succeeded."""
    from engram.usecases.opening.scopes import open_scope_of
    from engram.usecases.store import entry_writer

    done = []
    for one in taken:
        try:
            where = open_scope_of(store, one.scope)
            entry_writer.update(
                where, one.path, one.lore.id, _mark_taken_over, f"take over: {one.lore.title}"
            )
            done.append(one.lore.id)
        except EngramError:  # read-only, or forgotten meanwhile: it is shown again
            continue
    return done


def _mark_taken_over(lore: Lore) -> Lore:
    return lore._replace(tags=tuple(dict.fromkeys([*lore.tags, TAKEN_OVER])))


def _read(store: Store, path: str) -> list[Handoff]:
    from engram.usecases.store import entry_writer

    file = entry_writer.load_readable(store, path)
    if file is None:
        return []
    lore = file.lore
    is_open = lore.status == ACTIVE and HANDOFF in lore.tags and TAKEN_OVER not in lore.tags
    return [Handoff(lore, path, lore.agent, handoff_receiver(lore), store.places.scope)] if is_open else []
