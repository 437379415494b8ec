"""Confidence: votes per clone, the prior they move, and the value derived from both.

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
HERE = "here"  # the name of the person at this clone, where nobody else knows it

STATES = ("cold", "warm", "trusted", "authoritative")


class Vote(NamedTuple):
    """What one clone said of one entry: thousandths up, thousandths down, times helpful. Each only ever grows."""

    up: int = 0
    down: int = 0
    n: int = 0


class Tally(NamedTuple):
    """What the judgements of an entry add up to on a day; confidences in thousandths.

    `full` is the confidence before decay, `anchor` the day (since 1970, UTC) that decay counts from. `accounts` say how
    much each source moved it. `supporters` and `opponents` are the sources other than the author's whose judgements of
    the present words speak for them, and against them (of others, who signed these, where signatures are demanded);
    accounts of format 1 support any words.

    The rest is what one clone believes of it, and equal elsewhere only by chance. `believed` is the confidence before
    decay without the sources that are ignored here, `modest` the same with a stated confidence that counts as the
    default at most, and raised once by each person. `people` support the present words, the latest last (an empty
    name: somebody who gave none), counted by their names or `by_signature`; `against` counts those who do not;
    `judged_at` is when the latest did (Unix ms).
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
    """Keep a confidence inside 0..1000 thousandths."""
    return max(0, min(FULL, thousandths))


def decay(type_name: str, full: int, anchor: int, today: int) -> int:
    """Return what an entry has lost (thousandths): 0.01 for each full month of 30 days since it was last validated."""
    if type_name != SEMANTIC:
        return 0
    return min(full, DECAY_LOSS * max(0, (today - anchor) // DECAY_MONTH))


def balance(votes: Mapping[str, Vote], merged: int) -> int:
    """Return what votes and folded lore add to the prior, in thousandths; `merged` counts `merged_from`."""
    return sum(vote.up - vote.down for vote in votes.values()) + MERGE_GAIN * merged


def derive(prior: int, votes: Mapping[str, Vote], merged: int) -> int:
    """Return the confidence in thousandths."""
    return clamp(prior + balance(votes, merged))


def prior_for(confidence: int, votes: Mapping[str, Vote], merged: int) -> int:
    """Return the prior that makes `derive` give `confidence`: what a hand edit of the confidence means."""
    return confidence - balance(votes, merged)


def two_decimals(thousandths: int) -> str:
    """Return a confidence as it is written: `0.71`; halves round up."""
    hundredths = (thousandths + 5) // 10
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def stated_text(thousandths: int) -> str:
    """Return a stated confidence as a file has it: `0.70`, or `0.705` where it has thousandths."""
    return f"0.{thousandths:03d}" if thousandths % 10 else two_decimals(thousandths)


def larger(votes: Iterable[Vote]) -> Vote:
    """Return the component-wise maximum: how two records of one clone's votes unite."""
    found = list(votes) or [Vote()]
    return Vote(max(v.up for v in found), max(v.down for v in found), max(v.n for v in found))


def state(thousandths: int) -> str:
    """Return the name of a confidence: cold < 0.3 ≤ warm < 0.6 ≤ trusted < 0.8 ≤ authoritative."""
    return STATES[(thousandths >= 300) + (thousandths >= 600) + (thousandths >= 800)]
