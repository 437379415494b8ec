"""Which claims of an entry count in this clone: a pin or a high confidence from elsewhere, once somebody here confirmed it.

A file says of itself how sure it is, that it is pinned, and who found it helpful; whoever may push writes there what they
like. What another clone wrote counts as unpinned and as 0.70 at most, until a note of this clone's own says otherwise.
"""

from __future__ import annotations

from engram.domain.entry import confidence
from engram.domain.entry.confidence import DEFAULT_PRIOR, FULL, STATES, Tally
from engram.domain.entry.ulid import short
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore

ANY_TEXT = "*"  # in place of a digest: confirmed before texts were noted
RAISED = ""  # in place of a digest: not confirmed; another clone changed an entry of this one
_WARM = STATES[1]


class Confirmation(NamedTuple):
    """A record of this clone about an entry: the text, confidence (thousandths) and pin that somebody here confirmed.

    With `RAISED` for a digest: what the entry of this clone was before another one changed it.
    """

    digest: str
    confidence: int
    pinned: bool


class Limit(NamedTuple):
    """Up to which confidence (thousandths) an entry counts, whether its pin does, and whether somebody here confirmed it."""

    confidence: int
    pinned: bool
    is_confirmed: bool = False


class Counted(NamedTuple):
    """What an entry counts as in this clone: thousandths and pin.

    And whether somebody here confirmed it, and whether anybody but its author judged it.
    """

    confidence: int
    pinned: bool
    is_confirmed: bool
    is_judged: bool

    @property
    def fraction(self) -> float:
        """The confidence, 0.00..1.00, to two decimals."""
        return (self.confidence + 5) // 10 / 100

    @property
    def state(self) -> str:
        """The name of the confidence for a model: at most warm where nobody but the author judged."""
        named = confidence.state(self.confidence)
        return named if self.is_judged or named not in STATES[2:] else _WARM

    def words(self, lore: Lore) -> str:
        """Return what the entry counts as, for people who see the figures of its file; "" where it counts in full."""
        if (self.confidence, self.pinned) == (lore.thousandths, lore.pinned):
            return ""
        text = f"as {confidence.two_decimals(self.confidence)}" + (
            ", not pinned" if lore.pinned > self.pinned else ""
        )
        return f"{text}: more is claimed in another clone, and confirmed by nobody here"


UNLIMITED = Limit(FULL, True)
UNCONFIRMED = Limit(DEFAULT_PRIOR, False)


def limit_of(note: Confirmation | None, digest: str, *, is_own: bool) -> Limit:
    """Return how far the claims of an entry count. `digest` is that of its text now, `is_own` says that this clone recorded it."""
    if note is None:
        return UNLIMITED if is_own else UNCONFIRMED
    allowed = max(DEFAULT_PRIOR, note.confidence)
    if note.digest == RAISED:
        return Limit(allowed, note.pinned) if is_own else UNCONFIRMED
    if is_own:
        return UNLIMITED._replace(is_confirmed=True)
    return Limit(allowed, note.pinned, True) if note.digest in (ANY_TEXT, digest) else UNCONFIRMED


def counted(lore: Lore, limit: Limit, own_source: str) -> Counted:
    """Return what an entry counts as in the clone `own_source`."""
    return Counted(
        min(lore.thousandths, limit.confidence),
        lore.pinned and limit.pinned,
        limit.is_confirmed,
        limit.is_confirmed or _is_judged(lore, own_source),
    )


def in_effect(lore: Lore, what: Counted) -> Lore:
    """Return the entry with the confidence and the pin that count: to be ranked or shown, never to be written."""
    known = lore.tally or Tally(0, 0, 0, lore.validation_count, lore.last_validated, lore.votes)
    return lore._replace(tally=known._replace(confidence=what.confidence), pinned=what.pinned)


def limit_raised(before: Lore | None, after: Lore, limit: Limit) -> Confirmation | None:
    """Return the note for an entry of this clone that a sync changes; None where it claims no more than it did.

    `before` is None for an entry that was not here, `limit` what counted of it until now.
    """
    if before is None or (before.content, before.context) != (after.content, after.context):
        return Confirmation(RAISED, DEFAULT_PRIOR, False)
    allowed = max(DEFAULT_PRIOR, min(before.thousandths, limit.confidence))
    pinned = before.pinned and limit.pinned
    if after.thousandths > allowed or (after.pinned and not pinned):
        return Confirmation(RAISED, allowed, pinned)
    return None


def _is_judged(lore: Lore, own_source: str) -> bool:
    """Return whether a clone found it helpful, and not wrong more than that; the author's own counts only if it is this one.

    Judgements of other words than the present ones do not count, nor does what a file says of itself, but in format 1.
    """
    if lore.tally is not None:
        return bool(lore.tally.supporters)
    own = short(own_source)
    author = short(lore.source_id)
    return len(lore.sources) > 1 or any(
        vote.n and vote.up >= vote.down and (clone != author or clone == own)
        for clone, vote in lore.accounts.items()
    )
