"""The counts that `engram status` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codec_kit import PLAIN

from engram.adapters.index.catalog import Catalog, Entry
from engram.adapters.index.statistics import Standing, standing
from engram.domain.entry.lore import Conflict

if TYPE_CHECKING:
    from pathlib import Path


def entry(number: int, category: str, **changes: object) -> Entry:
    lore = PLAIN._replace(id=f"{PLAIN.id[:-1]}{number}", category=category, **changes)
    return Entry(f"lore/{number}.md", (1, 2, 3), "digest", 9, lore, row=number)


def test_entries_are_counted_by_category_status_adoption_and_conflicts(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path / "catalog.db"), create=True)
    conflicts = (Conflict("content", "Another.", "Ada", "2026-01-02T03:04:05Z"),) * 2
    catalog.put(
        [
            entry(1, "FACT"),
            entry(2, "PLAN", status="archived", conflicts=conflicts),
            entry(3, "PLAN")._replace(adopted=False),
            entry(4, "PLAN", conflicts=conflicts[:1]),
            entry(5, "FACT", status="pending")._replace(adopted=False),
            entry(4, "FACT")._replace(path="lore/twin.md", row=6),
            Entry("lore/bad.md", (1, 2, 3), "digest", 9),
        ]
    )
    catalog.shadow_duplicates(catalog.duplicate_ids())
    found = standing(catalog)
    assert found == Standing(5, {"PLAN": 3, "FACT": 2}, {"active": 3, "archived": 1, "pending": 1}, 2, 2)
    assert [*found.by_category] == ["PLAN", "FACT"]
    assert next(iter(found.by_status)) == "active"
