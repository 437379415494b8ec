"""The catalog returns what was stored, and notices what others changed in its file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engram.adapters.index.catalog import Catalog, Entry, Problem
from engram.adapters.index.catalog_check import damaged
from engram.domain.entry.lore import Lore

NOW = datetime(2026, 1, 2, 3, 4, 5, 600_000, UTC)


def entry(number: int, *tags: str) -> Entry:
    lore = Lore(
        f"01J8ZC6W6NN2KC71CQ20QK{number:04d}", f"# Note {number}\n\nText — “é”.", "FACT", NOW, NOW, tags=tags
    )
    path = f"lore/{number}.md"
    return Entry(path, (1, 2, 3), "digest", 9, lore, row=number, text_digest="text", vector_check=number)


def tags_of(catalog: Catalog) -> list[tuple[str, str]]:
    return catalog.connection.execute("SELECT path, tag FROM tags ORDER BY 1, 2").fetchall()


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(str(tmp_path / "catalog.db"), create=True)


@pytest.mark.parametrize("new", [True, False])
def test_entries_come_back_as_they_were_put(catalog: Catalog, new: bool) -> None:
    problem = Entry(
        "lore/bad.md", (1, 2, 3), "digest", 9, problem=Problem("lore/bad.md", 3, "no id", "add it")
    )
    catalog.put([entry(1, "b", "a", "b"), entry(2, "a"), entry(3), problem], new=new)
    [hit] = catalog.hits([1])
    assert (hit.title, hit.created_at, hit.vector_check) == ("Note 1", NOW.timestamp(), 1)
    assert tags_of(catalog) == [("lore/1.md", "a"), ("lore/1.md", "b"), ("lore/2.md", "a")]
    assert catalog.problems() == [Problem("lore/bad.md", 3, "no id", "add it")]
    assert damaged(catalog.connection) == []


def test_tags_follow_their_file_when_it_changes_its_row_or_goes(catalog: Catalog) -> None:
    catalog.put([entry(1, "a", "b"), entry(2, "a")], new=True)
    catalog.put([entry(1, "c")])
    catalog.put([entry(2, "d")._replace(row=7)])
    assert tags_of(catalog) == [("lore/1.md", "c"), ("lore/2.md", "d")]
    assert damaged(catalog.connection) == []
    catalog.remove(["lore/1.md", "lore/2.md"])
    assert catalog.connection.execute("SELECT count(*) FROM row_tags").fetchone() == (0,)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE files SET title = 'another' WHERE row = 1",
        "UPDATE files SET created_at = created_at + 1 WHERE row = 1",
        "UPDATE files SET confidence = NULL WHERE row = 1",
        "DELETE FROM row_tags WHERE row = 1",
        "INSERT INTO row_tags VALUES (1, 'more')",
        "INSERT INTO row_tags VALUES (9, 'of nobody')",
    ],
)
def test_a_change_by_others_is_noticed(catalog: Catalog, change: str) -> None:
    catalog.put([entry(1, "a"), entry(2, "b")])
    catalog.touch([(5, 6, 7, 8, "lore/1.md")])  # seen again: no damage
    assert damaged(catalog.connection) == []
    catalog.connection.execute(change)
    [damage] = damaged(catalog.connection)
    assert "1.md" in damage or "row 9" in damage
