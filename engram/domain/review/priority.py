"""The order of the review queue: the worth of an item times the certainty of its finding.

Worth measures the harm done until somebody decides: unreadable files and conflicting versions of an entry come first,
unused entries last; within a kind, more important entries come first.
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

# The worth of an item about an entry of importance 0, in thousandths.
LEAST_WORTH = {
    PROBLEM: 1000, CONFLICT: 950, ENTITY: 900, PROPOSAL: 850, FOREIGN: 800, PENDING: 700, CONTRADICTION: 600, DUPLICATE: 450,
    JUNK: 350, STALE: 250, WEAK: 200, MOMENT: 150,
}  # fmt: skip
# The certainty of a finding, in thousandths, unless the item has its own.
CERTAINTY = {
    PROBLEM: 1000, CONFLICT: 1000, ENTITY: 1000, PROPOSAL: 1000, FOREIGN: 900, PENDING: 900, JUNK: 600,
    STALE: 700, WEAK: 600, MOMENT: 600,
}  # fmt: skip
EXPIRED, UNUSED = 900, 500  # of a stale entry
REPORTS = ("SESSION_SUMMARY", "TASK_RESULT")  # categories of reports on work, which any session may leave
REPORT = 100  # the worth of a pending report: lessons come first


def worth(kind: str, importance: float) -> int:
    """Return the worth of an item in thousandths, given the importance (0..1) of its most important entry."""
    least = LEAST_WORTH[kind]
    return least + round((1000 - least) * importance / 2)
