"""Which claims of an entry count in this clone: a pin or a high confidence from elsewhere, once somebody here confirmed it.

A file says of itself how sure it is, that it is pinned, and how important; whoever may push writes there what they like.
What another clone wrote counts as unpinned, and its stated confidence as 0.70 at most, until a note of this clone's own
says otherwise. Next to the figure stands a tier, which an entry is given by people other than its author.
"""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.entry import confidence
from engram.domain.entry.confidence import DEFAULT_PRIOR, FULL, HERE, STATES, Tally, decay
from engram.domain.entry.lore import PENDING, Lore, lore_as_dict
from engram.domain.entry.times import render
from engram.domain.entry.ulid import short
from engram.domain.text.counted_nouns import ago
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Protocol

    class Claimant(Protocol):
        """An entry, or its line in the catalog."""

        @property
        def pinned(self) -> bool | int:
            """Whether it is shown before others."""

        @property
        def importance(self) -> float | None:
            """How important its author finds it, 0..1."""

        @property
        def when(self) -> str | tuple[str, ...]:
            """The moments at which it is shown; of a line of the catalog as lines of one text."""


ANY_TEXT = "*"  # in place of a digest: confirmed before texts were noted
RAISED = ""  # in place of a digest: not confirmed; another clone changed an entry of this one
UNSAID = 0.5  # an importance that nobody states
_WARM = STATES[1]

UNCONFIRMED_TIER, CONFIRMED, DISPUTED, CAPTURED, HELD = TIERS = (
    "unconfirmed", "confirmed", "disputed", "captured", "held",
)  # fmt: skip
_CAPTURED = "Extracted from "

# What a field counts as while nobody here accepted what another clone set it to. A field that joins them is claimed in
# `claims_of`, is asked about in the review queue, and counts once it is accepted: nothing else is needed.
UNCLAIMED: Mapping[str, object] = {"pinned": False, "importance": UNSAID, "when": ""}
ALL_CLAIMS = None


def claims_of(one: Claimant) -> dict[str, str]:
    """Return what an entry claims for itself by these fields: the name of each and the claim in words."""
    found = {"pinned": "pinned"} if one.pinned else {}
    if one.importance is not None and one.importance > UNSAID:
        found["importance"] = f"importance {one.importance:g}"
    if one.when:
        lines = one.when.split("\n") if isinstance(one.when, str) else one.when
        found["when"] = f"shown at {', '.join(lines)}"
    return found


class Confirmation(NamedTuple):
    """A record of this clone about an entry: the text, confidence (thousandths) and claims that somebody here confirmed.

    `accepted` are claims in words (None: all). With `RAISED` for a digest: what the entry of this clone was before
    another one changed it.
    """

    digest: str
    confidence: int
    accepted: frozenset[str] | None


class Limit(NamedTuple):
    """Up to which confidence (thousandths) an entry counts, which claims do (None: all), and whether it is confirmed here."""

    confidence: int
    accepted: frozenset[str] | None
    is_confirmed: bool = False

    def allows(self, claim: str) -> bool:
        """Return whether a claim counts."""
        return self.accepted is None or claim in self.accepted


class Earned(NamedTuple):
    """What others than its author made of an entry's present words: one of `TIERS`, how many people confirmed them.

    `by` is the name of the last of them ("" unknown), `at` when that was (Unix ms, 0 unknown). People are counted by
    their names, or `by_signature`.
    """

    tier: str = UNCONFIRMED_TIER
    people: int = 0
    by: str = ""
    at: int = 0
    by_signature: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return who confirmed an entry as JSON: how many people, by what they are counted, the last, and when (RFC 3339)."""
        at = render(datetime.fromtimestamp(self.at // 1000, UTC)) if self.at else None
        by = "signature" if self.by_signature else "name"
        return {"people": self.people, "counted_by": by, "last_by": self.by, "last_at": at}

    def words(self, now: datetime) -> str:
        """Return the tier as it is shown: `confirmed 3×, last by Ada 2 weeks ago`; people are counted by name unless it says so."""
        if not self.people:
            return self.tier
        when = f" {ago(now.timestamp() - self.at / 1000)}" if self.at else ""
        who = f" {HERE}" if self.by == HERE else f" by {self.by}" if self.by else ""
        said = (
            f"{self.tier} {self.people}×"
            if self.tier == CONFIRMED
            else f"{self.tier}, confirmed {self.people}×"
        ) + (" by signature" if self.by_signature else "")
        return f"{said}, last{who}{when}" if who or when else said


class Counted(NamedTuple):
    """What an entry counts as in this clone: thousandths and pin.

    And whether somebody here confirmed it, whether anybody but its author judged it, its importance, its tier, and whether its
    moments, if it has any, count.
    """

    confidence: int
    pinned: bool
    is_confirmed: bool
    is_judged: bool
    importance: float | None = None
    earned: Earned = Earned()
    has_moments: bool = True

    @property
    def fraction(self) -> float:
        """The confidence, 0.00..1.00, to two decimals."""
        return (self.confidence + 5) // 10 / 100

    @property
    def state(self) -> str:
        """The name of the confidence, for scripts: at most warm where nobody but the author judged."""
        named = confidence.state(self.confidence)
        return named if self.is_judged or named not in STATES[2:] else _WARM

    def words(self, lore: Lore) -> str:
        """Return what the entry counts as, for people who see the figures of its file; "" where it counts in full."""
        if (self.confidence, self.pinned, self.has_moments) == (lore.thousandths, lore.pinned, True):
            return ""
        text = f"as {confidence.two_decimals(self.confidence)}" + (
            ", not pinned" if lore.pinned > self.pinned else ""
        )
        text += "" if self.has_moments else ", not at its moments"
        if self.confidence > lore.thousandths:
            return f"{text}: what a source ignored here said is left out"
        return f"{text}: more is claimed in another clone, and confirmed by nobody here"


UNLIMITED = Limit(FULL, ALL_CLAIMS)
UNCONFIRMED = Limit(DEFAULT_PRIOR, frozenset())


def limit_of(note: Confirmation | None, digest: str, *, is_own: bool) -> Limit:
    """Return how far the claims of an entry count. `digest` is that of its text now, `is_own` says that this clone recorded it."""
    if note is None:
        return UNLIMITED if is_own else UNCONFIRMED
    allowed = max(DEFAULT_PRIOR, note.confidence)
    if note.digest == RAISED:
        return Limit(allowed, note.accepted) if is_own else UNCONFIRMED
    if is_own:
        return Limit(FULL, note.accepted, True)
    return Limit(allowed, note.accepted, True) if note.digest in (ANY_TEXT, digest) else UNCONFIRMED


def cap(believed: int, modest: int, limit: Limit) -> int:
    """Return which of two confidences before decay counts under a limit, or the limit (thousandths)."""
    return modest if limit == UNCONFIRMED else min(believed, limit.confidence)


def credit_of(lore: Lore, limit: Limit, own: Collection[str], today: int) -> Counted:
    """Return what an entry counts as on a day (since 1970, UTC) in the clone whose person has the sources `own`."""
    claims = claims_of(lore)
    pinned = lore.pinned and limit.allows(claims.get("pinned", ""))
    importance = lore.importance
    if "importance" in claims and not limit.allows(claims["importance"]):
        importance = UNSAID
    tally = lore.tally
    if tally is None or tally.believed is None or tally.modest is None:
        value = min(lore.thousandths, limit.confidence)
    else:
        full = cap(tally.believed, tally.modest, limit)
        value = full if pinned else full - decay(lore.type, full, min(tally.anchor, today), today)
    earned = earned_tier(lore, own, is_confirmed=limit.is_confirmed)
    is_judged = _is_judged(lore, own, is_confirmed=limit.is_confirmed)
    has_moments = "when" not in claims or limit.allows(claims["when"])
    return Counted(value, pinned, limit.is_confirmed, is_judged, importance, earned, has_moments)


def earned_tier(lore: Lore, own: Collection[str], *, is_confirmed: bool = False) -> Earned:
    """Return the tier of an entry. `own` are the sources of this clone's person, who may have confirmed it without a line."""
    tally = lore.tally
    people = tally.people if tally is not None else ()
    against = tally.against if tally is not None else 0
    count, by, at = len(people), people[-1] if people else "", tally.judged_at if tally is not None else 0
    by_signature = tally is not None and tally.by_signature
    has_line = tally is not None and any(source in own for source in tally.supporters)
    if is_confirmed and lore.source_id not in own and not has_line:
        count, by = count + 1, by or HERE
    if lore.status == PENDING:
        return Earned(HELD)
    if lore.conflicts or against > count or any(one.kind == "contradicts" for one in lore.relations):
        return Earned(DISPUTED, count, by, at, by_signature)
    if count:
        return Earned(CONFIRMED, count, by, at, by_signature)
    is_captured = any(text.startswith(_CAPTURED) for text in lore.context)
    return Earned(CAPTURED if is_captured else UNCONFIRMED_TIER)


def in_effect(lore: Lore, what: Counted) -> Lore:
    """Return the entry with the confidence and claims that count: to be ranked or shown, never to be written."""
    known = lore.tally or Tally(0, 0, 0, lore.validation_count, lore.last_validated, lore.votes)
    tally = known._replace(confidence=what.confidence)
    when = lore.when if what.has_moments else ()
    return lore._replace(tally=tally, pinned=what.pinned, importance=what.importance, when=when)


def as_dict(lore: Lore, path: str, what: Counted) -> dict[str, object]:
    """Return every field of an entry as JSON values, and what it counts as in this clone: `here` and `tier`."""
    found = lore_as_dict(lore, path)
    return found | {"here": what.fraction, "tier": what.earned.tier, "confirmed": what.earned.as_dict()}


def limit_raised(before: Lore | None, after: Lore, limit: Limit) -> Confirmation | None:
    """Return the note for an entry of this clone that a sync changes; None where it claims no more than it did.

    `before` is None for an entry that was not here, `limit` what counted of it until now.
    """
    if before is None or (before.content, before.context) != (after.content, after.context):
        return Confirmation(RAISED, DEFAULT_PRIOR, frozenset())
    allowed = max(DEFAULT_PRIOR, min(before.thousandths, limit.confidence))
    accepted = frozenset(claim for claim in claims_of(before).values() if limit.allows(claim))
    if after.thousandths > allowed or not accepted.issuperset(claims_of(after).values()):
        return Confirmation(RAISED, allowed, accepted)
    return None


def _is_judged(lore: Lore, own: Collection[str], *, is_confirmed: bool) -> bool:
    """Return whether anybody but its author spoke for its words as they are, or confirmed it here.

    Format 1 does not say of which words a clone spoke.
    """
    if is_confirmed and lore.source_id not in own:
        return True
    if lore.tally is not None:
        return bool(lore.tally.people)
    mine, author = {short(one) for one in own}, short(lore.source_id)
    return len(lore.sources) > 1 or any(
        vote.n and vote.up >= vote.down and (clone != author or clone in mine)
        for clone, vote in lore.accounts.items()
    )
