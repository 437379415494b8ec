"""What is kept of rows between questions is never older than what this process wrote, and no more than it may be."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from engram.adapters.index import beside, recent
from engram.adapters.index.catalog import Catalog, Entry
from engram.adapters.index.recent import RecentRows
from engram.domain.lore import Lore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def entry(row: int, content: str = "As it was.") -> Entry:
    lore = Lore(f"01J8ZC6W6NN2KC71CQ20QK{row:04d}", content, "FACT", NOW, NOW)
    return Entry(f"lore/{row}.md", (1, 2, 3), "digest", 9, lore, row=row)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    found = Catalog(str(tmp_path / "catalog.db"), create=True)
    found.put([entry(row) for row in range(4)], new=True)
    beside.put_tokens(found.connection, 0, [b"ab", b"cd"])
    yield found
    found.close()


def titles(rows: RecentRows) -> dict[int, str]:
    return {hit.row: hit.title for hit in rows.hits(range(5))}


def test_rows_are_given_as_the_catalog_has_them_also_the_second_time(catalog: Catalog) -> None:
    rows = RecentRows(catalog)
    for _ in (1, 2):
        assert sorted(rows.hits([3, 0, 9])) == sorted(catalog.hits([0, 3]))
        assert rows.tokens([1, 2, 0]) == [b"cd", b"", b"ab"]


def test_what_is_written_meanwhile_is_seen(catalog: Catalog) -> None:
    rows = RecentRows(catalog)
    assert titles(rows)[1] == "As it was."
    catalog.put([entry(1, "As it is.")])
    catalog.remove(["lore/2.md"])
    beside.put_tokens(catalog.connection, 1, [b"ef"])
    assert (titles(rows)[1], 2 in titles(rows), rows.tokens([1])) == ("As it is.", False, [b"ef"])


def test_what_was_seen_amid_a_change_that_is_taken_back_is_not_kept(catalog: Catalog) -> None:
    rows = RecentRows(catalog)
    catalog.connection.execute("BEGIN")
    catalog.put([entry(1, "Taken back.")])
    assert titles(rows)[1] == "Taken back."
    catalog.connection.execute("ROLLBACK")
    assert titles(rows)[1] == "As it was."


def test_what_another_process_wrote_is_seen_once_forgotten(catalog: Catalog, tmp_path: Path) -> None:
    rows = RecentRows(catalog)
    titles(rows)
    other = Catalog(str(tmp_path / "catalog.db"))
    other.put([entry(1, "By another.")])
    other.close()
    rows.forget()
    assert titles(rows)[1] == "By another."


def test_no_more_is_kept_than_a_few_thousand_rows(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "_MOST", 3)
    rows = RecentRows(catalog)
    for _ in (1, 2):
        assert [[hit.row for hit in rows.hits([row, 3])] for row in range(3)] == [[0, 3], [1, 3], [2, 3]]
    rows.hits(range(4))
    assert titles(rows) == dict.fromkeys(range(4), "As it was.")
