"""Search by structure: it finds what a look at every entry finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from team_kit import as_agent

from engram.domain.errors import UsageError

if TYPE_CHECKING:
    from apikit import SetClock

    from engram.domain.entry.lore import Lore


def test_find_agrees_with_checking_every_entry(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        for number in range(24):
            ada.record(
                f"Queue note {number}: consumers number {number} are idempotent.",
                category=("fact", "pattern")[number % 2],
                tags=["even"] if number % 3 == 0 else [],
                agent=("ada", "bob")[number // 12],
            )
            clock.advance(hours=6)
        ada.record("Queue of pending consumers.", category="fact", status="pending")
        every = [one.lore for one in ada.list(limit=None, status="active").lore]
        for asked in (
            {"agents": ["bob"]}, {"since": "2026-03-06"}, {"until": "2026-03-06"}, {"tags": ["even"]},
            {"categories": ["pattern"], "agents": "ada", "since": "2026-03-05T00:00:00Z", "until": "2026-03-06"},
        ):  # fmt: skip
            wanted = {lore.id for lore in every if _fits(lore, asked)}
            for words in ("", "queue consumers"):
                found = ada.search(words, limit=100, **asked)  # type: ignore[arg-type]
                assert {one.lore.id for one in found.lore} == wanted, (asked, words)
        newest = ada.search(limit=3).lore
        assert [one.lore.title.split(":")[0] for one in newest] == [f"Queue note {n}" for n in (23, 22, 21)]
        assert [one.ref for one in newest] == [
            next(r for r, i in ada.session_refs().items() if i == one.lore.id) for one in newest
        ]
        for wrong in ({"since": "yesterday"}, {"limit": 0}, {"scope": "nowhere"}):
            with pytest.raises(UsageError):
                ada.search(**wrong)  # type: ignore[arg-type]


def _fits(lore: Lore, asked: dict[str, object]) -> bool:
    made = f"{lore.created_at:%Y-%m-%dT%H:%M:%SZ}"
    until = str(asked.get("until", "9999"))
    return (
        lore.agent in asked.get("agents", lore.agent)  # type: ignore[operator]
        and made >= str(asked.get("since", ""))
        and (made[:10] if len(until) == 10 else made) <= until
        and set(asked.get("tags", ())) <= set(lore.tags)  # type: ignore[call-overload]
        and (lore.category == "PATTERN_OUTCOME" or not asked.get("categories"))
    )
