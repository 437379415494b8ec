"""What was said of lore on this machine, from the activity log and from what sessions remember of their feedback."""

from __future__ import annotations

from engram.domain.entry.confidence import HELPFUL, INCORRECT, NOT_RELEVANT
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.adapters.state.database import StateDatabase

_ORDER = (HELPFUL, INCORRECT, NOT_RELEVANT)  # in which an entry of the activity log has its ids


class Judgement(NamedTuple):
    """A session's judgement of an entry, its time (Unix seconds), and its number in the activity log (0: none)."""

    at: float
    session: str
    id: str
    kind: str
    number: int = 0

    @property
    def said(self) -> tuple[str, str, str]:
        """Who said what of which entry."""
        return self.session, self.id, self.kind


def judgements(state: StateDatabase, own: Collection[str], most: int) -> list[Judgement]:
    """Return all judgements of the latest `most` entries, oldest first; each once, and none that was taken back.

    `own` are the ids of this store's lore. Of them a session remembers what it said, until it begins anew; what it said
    of others is only in the activity log.
    """
    remembered = [Judgement(*row) for row in state.run("SELECT at, session, id, kind FROM feedback")]
    known = {one.said for one in remembered}
    started = dict(state.run("SELECT name, started FROM sessions"))
    found = []
    for entry in state.live.latest(most, "feedback"):
        kinds = [kind for kind in _ORDER for _ in range(entry.details.get(kind, 0))]
        remembers = entry.at >= started.get(entry.session, 0.0)
        for lore_id, kind in zip(entry.ids, kinds, strict=False):
            said = Judgement(entry.at, entry.session, lore_id, kind, entry.number)
            if said.said in known or not (remembers and lore_id in own):
                found.append(said)
    noted = {one.said for one in found}
    return sorted([*found, *[one for one in remembered if one.said not in noted]])  # said from elsewhere
