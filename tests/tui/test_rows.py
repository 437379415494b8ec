"""How an entry is written in a line, and which markdown is light enough to render."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engram
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Lore
from engram.domain.review.review import Item
from engram_tui.browse.facets import Facets
from engram_tui.browse.messages import counts
from engram_tui.browse.queries import read_page
from engram_tui.inbox.inbox_list import titles_of
from engram_tui.shell.frame import heading_line
from engram_tui.shell.store_watch import Heading, short_path
from engram_tui.widgets.format import age, bar, format_helpful, fraction, short_category
from engram_tui.widgets.markdown_pane import is_light, nesting
from engram_tui.widgets.preview import body_of
from engram_tui.widgets.rows import SORT_NAMES, Row, ids_of, row_of_shown, sort_rows, with_rows

ROWS = [
    Row("A", "", 900, "FACT", "b", 3.0, 1.0, 0, "active"),
    Row("B", "", 300, "PLAN", "C", 1.0, 3.0, 5, "active"),
    Row("C", "", 500, "FACT", "a", 2.0, 2.0, 9, "active"),
]


@given(st.integers(0, 1000), st.integers(1, 40))
def test_confidence_is_always_a_full_bar_and_three_characters(thousandths: int, cells: int) -> None:
    assert len(bar(thousandths, cells)) == cells
    assert len(fraction(thousandths)) == 3


@pytest.mark.parametrize(
    ("value", "written"), [(0, ".00"), (704, ".70"), (705, ".71"), (994, ".99"), (995, "1.0")]
)
def test_fractions_round_as_the_file_does(value: int, written: str) -> None:
    assert fraction(value) == written


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "now"), (59, "now"), (60, "1 min"), (7200, "2 h"), (86_400 * 6, "6 d"), (86_400 * 20, "2 w"),
     (86_400 * 364, "12 mo"), (86_400 * 800, "2 y")],
)  # fmt: skip
def test_ages_are_written_in_their_largest_unit(seconds: float, words: str) -> None:
    assert age(seconds) == words


@pytest.mark.parametrize(
    ("order", "ids"),
    [("best", "ABC"), ("created", "ACB"), ("updated", "BCA"), ("confidence", "ACB"), ("helpful", "CBA"),
     ("title", "CAB"), ("category", "CAB")],
)  # fmt: skip
def test_found_rows_sort_as_lists_do(order: str, ids: str) -> None:
    assert order in SORT_NAMES
    assert "".join(row.id for row in sort_rows(ROWS, order)) == ids


def test_a_category_of_the_store_s_own_is_readable_too() -> None:
    assert short_category("EDGE_CASE_DISCOVERY") == "EDGE CASE"
    assert short_category("HOUSE_RULE") == "HOUSE RULE"


@pytest.mark.parametrize(
    "heavy",
    [
        "x" * 4001,
        "|a|b|\n|-|-|\n" + "|1|2|\n" * 200,
        "|a" * 20 + "|\n" + "|-" * 20 + "|\n",
        ">" * 20 + " a",
        "- " * 20 + "a",
        "\t" * 15 + "- a",
    ],
    ids=["long", "table", "wide table", "quotes", "list in list", "indented"],
)
def test_heavy_markdown_is_known(heavy: str) -> None:
    assert not is_light(heavy)


def test_common_markdown_is_light() -> None:
    assert is_light(
        "# A\n\nText with `code`.\n\n- one\n  - two\n\n```python\nif a:\n    b\n```\n\n|a|b|\n|-|-|\n|1|2|\n"
    )
    assert nesting("plain\n\n> quote") == 1


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("# Title #\n\nText", "Text"),
        ("# Title\nText", "Text"),
        ("One line.", ""),
        ("First line.\n\nMore", "More"),
        ("First line\ngoes on", "First line\ngoes on"),
        ("x" * 200, "x" * 200),
    ],
)
def test_the_text_does_not_repeat_its_title(content: str, body: str) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert body_of(Lore("ID", content, "FACT", moment, moment)).strip() == body


@pytest.mark.parametrize("cells", [60, 80, 140])
def test_the_heading_keeps_its_numbers_whatever_the_path(cells: int) -> None:
    heading = Heading("", "main", 2, 0, 10_412, "hybrid", 3)
    line = heading_line("~/" + "deep/" * 60, heading, cells)
    assert line.endswith("/ · main ↑2 ↓0 · 10,412 entries · hybrid · 3 wait") or cells == 60
    assert len(line) <= max(cells, 80)


def test_in_few_cells_the_first_line_says_how_much_waits() -> None:
    heading = Heading("", "main", 2, 0, 10_412, "hybrid", 27)
    assert "10,412 entries · hybrid · 27 wait" in heading_line("~/lore", heading, 78)
    assert heading_line("~/code/shop/lore", heading, 38) == "engram  ~/code/shop/lore · 27 wait"


def test_counts_of_the_whole_list_and_of_a_part() -> None:
    assert counts(None, 10_412, 10_412) == "10,412 entries"
    assert counts(None, 12, 10_412) == "12 of 10,412 entries"


def test_home_is_written_as_a_tilde(home: object) -> None:
    assert short_path(f"{home}/notes") == "~/notes"
    assert short_path(f"{home}less/notes") == f"{home}less/notes"


def test_lines_of_a_long_list_are_what_the_catalog_says_and_change_in_place(tmp_path: Path) -> None:
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
    changed = with_rows(page.rows, {one.id: one._replace(title="Another"), two.id: None})
    assert ids_of(changed) == [row.id for row in page.rows if row != two]
    assert [row.title for row in changed].count("Another") == 1
    assert [row.id for row in changed[:2]] == [page.rows[0].id, one.id]
    assert changed[:2][1].title == "Another"


def test_two_titles_that_begin_alike_show_in_what_they_differ() -> None:
    begin = "Sessions of the proxy expire after"
    titles = (f"{begin} 12 hours.", f"{begin} 30 minutes.")
    pair = Item("i", "contradiction", ("a", "b"), ("a.md", "b.md"), titles[0], "", "look", titles=titles)
    assert titles_of(pair, 100) == f"{titles[0]} ⇄ {titles[1]}"
    assert titles_of(pair, 40) == "Sessions of the proxy e… ⇄ … 30 minutes."
    assert titles_of(pair, 24) == "Sessions of the pro… + 1"
    apart = pair._replace(titles=("Retry with jitter.", "Orders are numbered by the database."))
    assert titles_of(apart, 40) == "Retry with jitter. ⇄ Orders are numbered by the database."


def test_an_entry_that_took_in_another_is_confirmed_though_it_never_helped() -> None:
    moment = datetime(2026, 3, 4, 12, tzinfo=UTC)
    lore = Lore("ID", "Retry.", "FACT", moment, moment)
    now = moment.timestamp() + 7_200
    assert format_helpful(lore, now) == "not validated yet"
    assert format_helpful(lore._replace(last_validated=moment), now) == "confirmed 2 h ago"
    judged = lore._replace(last_validated=moment, votes={"A": Vote(80, 0, 3)})
    assert format_helpful(judged, now) == "✓3, last 2 h ago"
