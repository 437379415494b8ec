"""Which claims of an entry count in this clone: those of other clones only after they are confirmed here.

An entry file states its own confidence, pin and importance, and anyone who may push can write any value there. An
entry of another clone counts as unpinned, with a confidence of at most 0.70, until a note of this clone says otherwise.
Its tier says what people other than its author made of it.
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
        """An entry, or its row in the catalog."""

        @property
        def pinned(self) -> bool | int:
            """Whether it is shown before others."""

        @property
        def importance(self) -> float | None:
            """The importance that its author gave it, 0..1."""

        @property
        def when(self) -> str | tuple[str, ...]:
            """The moments at which it is shown; in a catalog row, the lines of a text."""


ANY_TEXT = "*"  # in place of a digest: confirmed before digests were recorded
RAISED = ""  # in place of a digest: not confirmed; another clone changed an entry of this one
DEFAULT_IMPORTANCE = 0.5
_WARM = STATES[1]

UNCONFIRMED_TIER, CONFIRMED, DISPUTED, CAPTURED, HELD = TIERS = (
    "unconfirmed", "confirmed", "disputed", "captured", "held",
)  # fmt: skip
_CAPTURED_PREFIX = "Extracted from "  # of the context of a captured entry

# The value that counts for a field while the claim of another clone is not accepted here. To make another field a
# claim, add it here and to `claims_of`; the review queue then asks about it.
UNCLAIMED: Mapping[str, object] = {"pinned": False, "importance": DEFAULT_IMPORTANCE, "when": ""}
ALL_CLAIMS = None


def claims_of(claimant: Claimant) -> dict[str, str]:
    """Return the claims of an entry in words, by the names of the fields in `UNCLAIMED`."""
    found = {"pinned": "pinned"} if claimant.pinned else {}
    if claimant.importance is not None and claimant.importance > DEFAULT_IMPORTANCE:
        found["importance"] = f"importance {claimant.importance:g}"
    if claimant.when:
        lines = claimant.when.split("\n") if isinstance(claimant.when, str) else claimant.when
        found["when"] = f"shown at {', '.join(lines)}"
    return found


class Confirmation(NamedTuple):
    """A note of this clone on an entry: the digest of the text, the confidence (thousandths) and the claims confirmed here.

    `accepted` are claims in words (None: all). If `digest` is `RAISED`, the values are those that an entry of this clone
    had before another one changed it.
    """

    digest: str
    confidence: int
    accepted: frozenset[str] | None


class Limit(NamedTuple):
    """The highest confidence that counts (thousandths), the claims that do (None: all), and whether the entry is confirmed here."""

    confidence: int
    accepted: frozenset[str] | None
    is_confirmed: bool = False

    def allows(self, claim: str) -> bool:
        """Return whether a claim counts."""
        return self.accepted is None or claim in self.accepted


class EarnedTier(NamedTuple):
    """What people other than its author made of an entry's current text: one of `TIERS`, and how many confirmed it.

    `by` is the name of the last one ("": unknown), `at` the time (Unix ms, 0: unknown). People are counted by name,
    or `by_signature`.
    """

    tier: str = UNCONFIRMED_TIER
    people: int = 0
    by: str = ""
    at: int = 0
    by_signature: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return the confirmations as JSON: the number of people, how they are counted, the last one, and when (RFC 3339)."""
        at = render(datetime.fromtimestamp(self.at // 1000, UTC)) if self.at else None
        by = "signature" if self.by_signature else "name"
        return {"people": self.people, "counted_by": by, "last_by": self.by, "last_at": at}

    def words(self, now: datetime) -> str:
        """Return the tier for display: `confirmed 3×, last by Ada 2 weeks ago`; says so if people are counted by signature."""
        if not self.people:
            return self.tier
        when = f" {ago(now.timestamp() - self.at / 1000)}" if self.at else ""
        who = f" {HERE}" if self.by == HERE else f" by {self.by}" if self.by else ""
        text = (
            f"{self.tier} {self.people}×"
            if self.tier == CONFIRMED
            else f"{self.tier}, confirmed {self.people}×"
        ) + (" by signature" if self.by_signature else "")
        return f"{text}, last{who}{when}" if who or when else text


class EffectiveValues(NamedTuple):
    """What an entry counts as in this clone: confidence (thousandths), pin, importance and tier.

    `is_confirmed` says whether it was confirmed here, `is_judged` whether anybody but its author judged it, and
    `has_moments` whether its moments count, if it has any.
    """

    confidence: int
    pinned: bool
    is_confirmed: bool
    is_judged: bool
    importance: float | None = None
    earned: EarnedTier = EarnedTier()
    has_moments: bool = True

    @property
    def fraction(self) -> float:
        """The confidence, 0.00..1.00, to two decimals."""
        return (self.confidence + 5) // 10 / 100

    @property
    def state(self) -> str:
        """The name of the confidence, for scripts: at most warm if only the author judged the entry."""
        state = confidence.state(self.confidence)
        return state if self.is_judged or state not in STATES[2:] else _WARM

    def words(self, lore: Lore) -> str:
        """Return what the entry counts as, for people who see the values in its file; "" if these count."""
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
    """Return the limit of an entry. `digest` is that of its current text; `is_own` says that this clone recorded it."""
    if note is None:
        return UNLIMITED if is_own else UNCONFIRMED
    allowed = max(DEFAULT_PRIOR, note.confidence)
    if note.digest == RAISED:
        return Limit(allowed, note.accepted) if is_own else UNCONFIRMED
    if is_own:
        return Limit(FULL, note.accepted, True)
    return Limit(allowed, note.accepted, True) if note.digest in (ANY_TEXT, digest) else UNCONFIRMED


def cap_confidence(believed: int, modest: int, limit: Limit) -> int:
    """Return the confidence before decay that counts under a limit: `modest`, or `believed` up to the limit (thousandths)."""
    return modest if limit == UNCONFIRMED else min(believed, limit.confidence)


def credit_of(lore: Lore, limit: Limit, own: Collection[str], today: int) -> EffectiveValues:
    """Return what an entry counts as on a day (since 1970, UTC) in a clone whose user has the sources `own`."""
    claims = claims_of(lore)
    pinned = lore.pinned and limit.allows(claims.get("pinned", ""))
    importance = lore.importance
    if "importance" in claims and not limit.allows(claims["importance"]):
        importance = DEFAULT_IMPORTANCE
    tally = lore.tally
    if tally is None or tally.believed is None or tally.modest is None:
        value = min(lore.thousandths, limit.confidence)
    else:
        full = cap_confidence(tally.believed, tally.modest, limit)
        value = full if pinned else full - decay(lore.type, full, min(tally.anchor, today), today)
    earned = earned_tier(lore, own, is_confirmed=limit.is_confirmed)
    is_judged = _is_judged(lore, own, is_confirmed=limit.is_confirmed)
    has_moments = "when" not in claims or limit.allows(claims["when"])
    return EffectiveValues(value, pinned, limit.is_confirmed, is_judged, importance, earned, has_moments)


def earned_tier(lore: Lore, own: Collection[str], *, is_confirmed: bool = False) -> EarnedTier:
    """Return the tier of an entry. `own` are the sources of this clone's user, who may have confirmed it without a line."""
    tally = lore.tally
    people = tally.people if tally is not None else ()
    against = tally.against if tally is not None else 0
    count, by, at = len(people), people[-1] if people else "", tally.judged_at if tally is not None else 0
    by_signature = tally is not None and tally.by_signature
    has_line = tally is not None and any(source in own for source in tally.supporters)
    if is_confirmed and lore.source_id not in own and not has_line:
        count, by = count + 1, by or HERE
    if lore.status == PENDING:
        return EarnedTier(HELD)
    if (
        lore.conflicts
        or against > count
        or any(relation.kind == "contradicts" for relation in lore.relations)
    ):
        return EarnedTier(DISPUTED, count, by, at, by_signature)
    if count:
        return EarnedTier(CONFIRMED, count, by, at, by_signature)
    is_captured = any(text.startswith(_CAPTURED_PREFIX) for text in lore.context)
    return EarnedTier(CAPTURED if is_captured else UNCONFIRMED_TIER)


def in_effect(lore: Lore, counted: EffectiveValues) -> Lore:
    """Return the entry with the confidence and claims that count: to be ranked or shown, never to be written."""
    known = lore.tally or Tally(0, 0, 0, lore.validation_count, lore.last_validated, lore.votes)
    tally = known._replace(confidence=counted.confidence)
    when = lore.when if counted.has_moments else ()
    return lore._replace(tally=tally, pinned=counted.pinned, importance=counted.importance, when=when)


def as_dict(lore: Lore, path: str, counted: EffectiveValues) -> dict[str, object]:
    """Return every field of an entry as JSON values, and what it counts as in this clone: `here` and `tier`."""
    earned = counted.earned
    here = {"here": counted.fraction, "tier": earned.tier, "confirmed": earned.as_dict()}
    return lore_as_dict(lore, path) | here


def limit_raised(before: Lore | None, after: Lore, limit: Limit) -> Confirmation | None:
    """Return the note for an entry of this clone that a sync changes; None if it claims no more than before.

    `before` is None for an entry that was not here, `limit` is its limit until now.
    """
    if before is None or (before.content, before.context) != (after.content, after.context):
        return Confirmation(RAISED, DEFAULT_PRIOR, frozenset())
    allowed = max(DEFAULT_PRIOR, min(before.thousandths, limit.confidence))
    accepted = frozenset(claim for claim in claims_of(before).values() if limit.allows(claim))
    if after.thousandths > allowed or not accepted.issuperset(claims_of(after).values()):
        return Confirmation(RAISED, allowed, accepted)
    return None


def _is_judged(lore: Lore, own: Collection[str], *, is_confirmed: bool) -> bool:
    """Return whether anybody but the author judged the current text of an entry, or confirmed it here.

    Votes of format 1 do not say which text they are for, so they always count.
    """
    if is_confirmed and lore.source_id not in own:
        return True
    if lore.tally is not None:
        return bool(lore.tally.people)
    own_short, author = {short(source) for source in own}, short(lore.source_id)
    return len(lore.sources) > 1 or any(
        vote.n and vote.up >= vote.down and (clone != author or clone in own_short)
        for clone, vote in lore.accounts.items()
    )
