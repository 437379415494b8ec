"""The order of the review queue: what an item is worth, times how certain its finding is.

Worth counts what goes wrong until somebody decides: a file that nobody can read and two versions of one entry come
first, an entry that nobody used comes last, and within a kind the entry that matters more comes first.
"""

from __future__ import annotations

from engram.domain.review.review import (
    CONFLICT,
    CONTRADICTION,
    DUPLICATE,
    ENTITY,
    FOREIGN,
    JUNK,
    MOMENT,
    PENDING,
    PROBLEM,
    PROPOSAL,
    STALE,
    WEAK,
)

# The worth of an item about an entry without any importance, in thousandths.
LEAST_WORTH = {
    PROBLEM: 1000, CONFLICT: 950, ENTITY: 900, PROPOSAL: 850, FOREIGN: 800, PENDING: 700, CONTRADICTION: 600, DUPLICATE: 450,
    JUNK: 350, STALE: 250, WEAK: 200, MOMENT: 150,
}  # fmt: skip
# How certain the finding is, in thousandths, where nothing about the item says it.
CERTAINTY = {
    PROBLEM: 1000, CONFLICT: 1000, ENTITY: 1000, PROPOSAL: 1000, FOREIGN: 900, PENDING: 900, JUNK: 600,
    STALE: 700, WEAK: 600, MOMENT: 600,
}  # fmt: skip
EXPIRED, UNUSED = 900, 500  # of a stale entry
REPORTS = ("SESSION_SUMMARY", "TASK_RESULT")  # categories of what was done, which each session may leave
REPORT = 100  # the worth of a pending one: lessons come first


def worth(kind: str, importance: float) -> int:
    """Return the worth of an item in thousandths, from the importance (0..1) of the entry that matters most in it."""
    least = LEAST_WORTH[kind]
    return least + round((1000 - least) * importance / 2)
