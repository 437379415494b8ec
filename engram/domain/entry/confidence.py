"""Confidence: votes per clone, the prior that they change, and the value derived from both.

All arithmetic is in thousandths, as integers, so that every machine gets the same result.
`confidence = clamp(prior + Σ(up − down)/1000 + 0.10·|merged_from|)`.
"""

from __future__ import annotations

from engram.domain.entry.categories import SEMANTIC
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

HELPFUL = "helpful"
NOT_RELEVANT = "not_relevant"
INCORRECT = "incorrect"
KINDS = (HELPFUL, NOT_RELEVANT, INCORRECT)

DEFAULT_PRIOR = 700
HELPFUL_GAIN = 80
INCORRECT_LOSS = 150
MERGE_GAIN = 100
DECAY_LOSS = 10  # thousandths for each month
DECAY_MONTH = 30  # days
FULL = 1000
HERE = "here"  # the person at this clone, if their name is unknown

STATES = ("cold", "warm", "trusted", "authoritative")


class Vote(NamedTuple):
    """One clone's votes on an entry: thousandths up, thousandths down, times helpful. Each only ever grows."""

    up: int = 0
    down: int = 0
    n: int = 0


class Tally(NamedTuple):
    """The sum of an entry's judgements on a day; confidences are in thousandths.

    `full` is the confidence before decay, `anchor` the day (since 1970, UTC) from which decay counts. `accounts` have each
    source's contribution. `supporters` and `opponents` are the sources, other than the author's, that judged the current
    text positively and negatively (only signed judgements of other sources, if signatures are required); accounts of
    format 1 support any text.

    The other fields are specific to one clone. `believed` is the confidence before decay without the sources that are
    ignored here; `modest` is the same, but the stated confidence counts as at most the default, and each person raises it
    only once. `people` support the current text, the latest last (an empty name: somebody without a name), counted by name
    or `by_signature`; `against` counts the people against it; `judged_at` is the time of the latest judgement (Unix ms).
    """

    confidence: int
    full: int
    anchor: int
    validation_count: int
    last_validated: datetime | None
    accounts: Mapping[str, Vote]
    supporters: tuple[str, ...] = ()
    opponents: tuple[str, ...] = ()
    believed: int | None = None
    modest: int | None = None
    people: tuple[str, ...] = ()
    against: int = 0
    judged_at: int = 0
    by_signature: bool = False


def clamp(thousandths: int) -> int:
    """Limit a confidence to 0..1000 thousandths."""
    return max(0, min(FULL, thousandths))


def decay(type_name: str, full: int, anchor: int, today: int) -> int:
    """Return the decay of an entry in thousandths: 10 for each full month of 30 days since it was last validated."""
    if type_name != SEMANTIC:
        return 0
    return min(full, DECAY_LOSS * max(0, (today - anchor) // DECAY_MONTH))


def balance(votes: Mapping[str, Vote], merged: int) -> int:
    """Return what votes and folded entries add to the prior, in thousandths; `merged` is the length of `merged_from`."""
    return sum(vote.up - vote.down for vote in votes.values()) + MERGE_GAIN * merged


def derive(prior: int, votes: Mapping[str, Vote], merged: int) -> int:
    """Return the confidence in thousandths: the prior plus the balance, within bounds."""
    return clamp(prior + balance(votes, merged))


def prior_for(confidence: int, votes: Mapping[str, Vote], merged: int) -> int:
    """Return the prior from which `derive` gives `confidence`, for a manual edit of the confidence."""
    return confidence - balance(votes, merged)


def two_decimals(thousandths: int) -> str:
    """Format a confidence with two decimals: `0.71`; halves round up."""
    hundredths = (thousandths + 5) // 10
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def stated_text(thousandths: int) -> str:
    """Format a stated confidence as in files: `0.70`, or `0.705` if two decimals are not enough."""
    return f"0.{thousandths:03d}" if thousandths % 10 else two_decimals(thousandths)


def larger(votes: Iterable[Vote]) -> Vote:
    """Return the component-wise maximum, which merges records of one clone's votes."""
    found = list(votes) or [Vote()]
    return Vote(max(v.up for v in found), max(v.down for v in found), max(v.n for v in found))


def state(thousandths: int) -> str:
    """Return the name of a confidence level: cold < 0.3 ≤ warm < 0.6 ≤ trusted < 0.8 ≤ authoritative."""
    return STATES[(thousandths >= 300) + (thousandths >= 600) + (thousandths >= 800)]
