"""Judgements of lore on this machine, from the activity log and from the feedback of sessions."""

from __future__ import annotations

from engram.domain.entry.confidence import HELPFUL, INCORRECT, NOT_RELEVANT
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.adapters.state.database import StateDatabase

_ORDER = (HELPFUL, INCORRECT, NOT_RELEVANT)  # of the ids of a line of the activity log


class Judgement(NamedTuple):
    """A session's judgement of an entry, its time (Unix seconds), and its number in the activity log (0: none)."""

    at: float
    session: str
    id: str
    kind: str
    number: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """The session, the entry and the kind of the judgement."""
        return self.session, self.id, self.kind


def judgements(state: StateDatabase, own: Collection[str], most: int) -> list[Judgement]:
    """Return the judgements in the latest `most` lines of feedback, oldest first; each once, none that was retracted.

    `own` are the ids of this store's entries. A session stores its feedback on them until it restarts; feedback on other
    entries is only in the activity log.
    """
    stored = [Judgement(*row) for row in state.run("SELECT at, session, id, kind FROM feedback")]
    known = {one.key for one in stored}
    started = dict(state.run("SELECT name, started FROM sessions"))
    found = []
    for entry in state.live.latest(most, "feedback"):
        kinds = [kind for kind in _ORDER for _ in range(entry.details.get(kind, 0))]
        is_stored = entry.at >= started.get(entry.session, 0.0)
        for lore_id, kind in zip(entry.ids, kinds, strict=False):
            judgement = Judgement(entry.at, entry.session, lore_id, kind, entry.number)
            if judgement.key in known or not (is_stored and lore_id in own):
                found.append(judgement)
    logged = {one.key for one in found}
    from_other_stores = [one for one in stored if one.key not in logged]
    return sorted([*found, *from_other_stores])
