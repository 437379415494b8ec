"""Two years of a store, month by month with a set clock: decay, retention, archiving and deletion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from apikit import QUEUE, SetClock, dedicated, git, open_test_store
from storekit import commit

from engram.domain.entry.lore import ARCHIVED
from engram.usecases.upkeep.maintain import maintain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram

MONTHS = 24
SETTINGS = """\
[scopes.project]
retention_days = 365
garbage_days = 180
"""
KINDS = ("unused", "helped", "helped once", "pinned", "procedure", "summary")


class Month(NamedTuple):
    """The state at the end of a month: the entries that a query recalls, and the confidence of each existing entry."""

    recalled: set[str]
    confidence: dict[str, float]
    archived: set[str]


@pytest.fixture
def two_years(home: Path, tmp_path: Path) -> Iterator[tuple[Engram, dict[str, str], list[Month]]]:
    """Make a store and its months; one entry is found helpful every quarter, one only in the tenth month."""
    config = home / ".config/engram/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(SETTINGS, "utf-8")
    clock, months = SetClock(), list[Month]()
    with open_test_store(dedicated(tmp_path / "store"), clock=clock) as store:
        ids = {kind: _record(store, kind) for kind in KINDS}
        names = {lore_id: kind for kind, lore_id in ids.items()}
        for month in range(1, MONTHS + 1):
            clock.advance(days=30)
            if month % 3 == 0:
                store.feedback(helpful=[ids["helped"]], again=True)
            if month == 10:
                store.feedback(helpful=[ids["helped once"]])
            commit(store)
            maintain(store.store)
            store.refresh()
            hits = store.query("queue consumer patterns", k=20, min_confidence=0).lore
            there = [one.lore for one in store.list(limit=20).lore]
            there += [
                one.lore
                for one in store.list(status=ARCHIVED).lore
                if one.lore.id not in {lore.id for lore in there}
            ]
            months.append(
                Month(
                    {names[hit.lore.id] for hit in hits},
                    {names[lore.id]: lore.confidence for lore in there},
                    {names[lore.id] for lore in there if lore.status == ARCHIVED},
                )
            )
        yield store, ids, months


def _record(store: Engram, kind: str) -> str:
    category = {"procedure": "WORKFLOW", "summary": "SESSION_SUMMARY"}.get(kind, "FACT")
    return store.record(f"{QUEUE} The case of {kind}.", category=category, pinned=kind == "pinned").lore.id


def test_two_years_of_decay_retention_and_garbage(
    two_years: tuple[Engram, dict[str, str], list[Month]],
) -> None:
    store, ids, months = two_years
    # A hundredth a month while it is there; what is validated in time, pinned or no fact keeps its confidence.
    unused = [month.confidence.get("unused") for month in months]
    assert unused[:17] == [round(0.70 - number / 100, 2) for number in range(1, 18)]
    assert {month.confidence["pinned"] for month in months} == {0.70}
    assert {month.confidence["procedure"] for month in months if "procedure" in month.confidence} == {0.70}
    assert months[-1].confidence["helped"] == 1.0
    once = [month.confidence["helped once"] for month in months]
    assert (once[8], once[9], once[10], once[15]) == (0.61, 0.78, 0.77, 0.72)
    # Recalled for a year from when it was recorded, or last found helpful.
    assert [month for month in range(MONTHS) if "unused" in months[month].recalled] == list(range(12))
    assert [month for month in range(MONTHS) if "procedure" in months[month].recalled] == list(range(12))
    assert [month for month in range(MONTHS) if "helped once" in months[month].recalled] == list(range(22))
    for kind in ("helped", "pinned"):
        assert all(kind in month.recalled for month in months), kind
    # What a session left is archived by itself, and deleted with the rest after the days for garbage.
    assert any("summary" in month.archived for month in months)
    assert set(months[-1].confidence) == {"helped", "helped once", "pinned"}
    assert [month for month in range(MONTHS) if "unused" in months[month].confidence] == list(range(18))
    # Git's history keeps what went.
    assert "The case of unused." in git(Path(store.path), "log", "-p", "--all")
    assert ids["unused"] not in {one.lore.id for one in store.list(limit=20).lore}
