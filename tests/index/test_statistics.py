"""The counts that `engram status` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from storekit import opened

from engram.adapters.index.statistics import Standing, standing
from engram.usecases.recording.edit import Edit

if TYPE_CHECKING:
    from pathlib import Path


def test_entries_are_counted_by_category_by_status_and_by_what_they_lack(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as engram:
        for word, category in (("broker", "FACT"), ("parser", "PLAN"), ("cache", "PLAN")):
            last = engram.record(f"The {word} is slow.", category=category).lore
        engram.edit(last.id, Edit(status="archived"))
        (tmp_path / "store" / "lore" / "note.md").write_text("The lock is held.\n")
        engram.refresh()
        generation = engram.store.index.look()
        assert generation is not None
        found = standing(generation.catalog)
        assert found == Standing(4, {"FACT": 2, "PLAN": 2}, {"active": 3, "archived": 1}, 1, 0)
