"""The change of an entry, described in a phrase."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.domain.entry.change_phrase import phrase
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import ARCHIVED, PENDING, Conflict, Lore, Settlement

THEN = datetime(2026, 1, 2, tzinfo=UTC)
LORE = Lore("01M818AK6VJ2KPA76161WCXT4J", "Tides are local.", "FACT", THEN, THEN, tags=("sea",))
UP = {"K7QM": Vote(80, 0, 1)}
LOST = Conflict("content", "Tides are global.", "P3ZD", "2026-01-02T00:00:00Z")
SETTLED = Settlement("k", "kept", "K7QM", "2026-01-03T00:00:00Z")


@pytest.mark.parametrize(
    ("before", "after", "kind", "words"),
    [
        ((), LORE, "new", "new"),
        ((), LORE._replace(status=PENDING), "new", "new, pending"),
        ((LORE,), None, "forgotten", "forgotten"),
        ((LORE,), LORE._replace(votes=UP), "changed", "confidence .70 → .78 by K7QM"),
        ((LORE,), LORE._replace(prior=500), "changed", "confidence .70 → .50"),
        (
            (LORE._replace(prior=1000),),
            LORE._replace(prior=1000, votes=UP),
            "changed",
            "judged, confidence unchanged",
        ),
        (
            (LORE,),
            LORE._replace(content="Tides vary.", tags=("moon",)),
            "changed",
            "text changed, tags +moon −sea",
        ),
        ((LORE,), LORE._replace(status=ARCHIVED, pinned=True), "changed", "active → archived, pinned"),
        ((LORE,), LORE._replace(category="PLAN", files=("a.py",)), "changed", "category PLAN, files changed"),
        ((LORE, LORE), LORE, "merged", "merged 2 versions"),
        ((LORE, LORE), LORE._replace(conflicts=(LOST,)), "conflict", "merged 2 versions, 1 kept for review"),
        ((LORE._replace(conflicts=(LOST,)),), LORE, "changed", "1 reviewed"),
        ((LORE._replace(conflicts=(LOST,)),), LORE._replace(settled=(SETTLED,)), "changed", "1 reviewed"),
        ((LORE,), LORE._replace(merged_from=("X",)), "folded", "1 duplicate folded in"),
        ((LORE,), LORE, "changed", "rewritten without changes"),
    ],
)
def test_a_change_is_described_in_a_phrase(
    before: tuple[Lore, ...], after: Lore | None, kind: str, words: str
) -> None:
    assert phrase(before, after) == (kind, words)
