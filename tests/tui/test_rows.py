"""Rows of a list of entries: their orders, and a long list that changes in place."""

from __future__ import annotations

from pathlib import Path

import pytest

import engram
from engram_tui.browse.facets import Facets
from engram_tui.browse.queries import read_page
from engram_tui.widgets.rows import SORT_NAMES, Row, ids_of, replace_rows, row_of_shown, sort_rows

ROWS = [
    Row("A", "", 900, "FACT", "b", 3.0, 1.0, 0, "active"),
    Row("B", "", 300, "PLAN", "C", 1.0, 3.0, 5, "active"),
    Row("C", "", 500, "FACT", "a", 2.0, 2.0, 9, "active"),
]


@pytest.mark.parametrize(
    ("order", "ids"),
    [("best", "ABC"), ("created", "ACB"), ("updated", "BCA"), ("confidence", "ACB"), ("helpful", "CBA"),
     ("title", "CAB"), ("category", "CAB")],
)  # fmt: skip
def test_found_rows_sort_as_lists_do(order: str, ids: str) -> None:
    assert order in SORT_NAMES
    assert "".join(row.id for row in sort_rows(ROWS, order)) == ids


def test_rows_of_a_long_list_match_the_catalog_and_change_in_place(tmp_path: Path) -> None:
    with engram.open(tmp_path / "s", session="t") as store:
        for number in range(5):
            store.record(f"Lore number {number} of five.", category="FACT", agent=f"agent-{number}")
        page = read_page(store, "created", Facets(), 0.0, None)
        first = read_page(store, "created", Facets(), 0.0, 2)
        named = read_page(store, "created", Facets(agent="agent-3"), 0.0, 2)
        shown = {one.lore.id: one for one in store.list().lore}
    assert (page.total, page.matching, page.complete) == (5, 5, True)
    assert (len(first.rows), first.matching, first.complete) == (2, 5, False)
    assert (len(named.rows), named.matching, named.total) == (1, 1, 5)
    assert list(page.rows) == [row_of_shown(shown[row.id]) for row in page.rows]
    one, two = page.rows[1], page.rows[3]
    changed = replace_rows(page.rows, {one.id: one._replace(title="Another"), two.id: None})
    assert ids_of(changed) == [row.id for row in page.rows if row != two]
    assert [row.title for row in changed].count("Another") == 1
    assert [row.id for row in changed[:2]] == [page.rows[0].id, one.id]
    assert changed[:2][1].title == "Another"
