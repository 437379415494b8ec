"""The list draws only visible rows, whatever its length."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult

from engram_tui.widgets.entry_list import EntryList, fit
from engram_tui.widgets.rows import Row

MANY = 100_000
NOW = 1_700_000_000.0


def row(number: int, title: str = "", status: str = "active") -> Row:
    return Row(
        f"id{number}", "", number % 1001, "FACT", title or f"lore {number}", NOW, NOW, number % 3, status
    )


class CountingList(EntryList):
    """Notes which rows are drawn."""

    drawn: list[int]
    anew: list[int]

    def _row_strip(self, row: Row, width: int, chosen: bool):  # type: ignore[no-untyped-def]
        self.drawn.append(int(row.id[2:]))
        return super()._row_strip(row, width, chosen)

    def _draw_strip(self, row: Row, width: int, chosen: bool):  # type: ignore[no-untyped-def]
        self.anew.append(int(row.id[2:]))
        return super()._draw_strip(row, width, chosen)


class ListApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.list = CountingList(NOW)
        self.list.drawn = []
        self.list.anew = []
        self.highlighted: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.list

    def on_entry_list_highlighted(self, message: EntryList.Highlighted) -> None:
        self.highlighted.append(message.row.id if message.row else "")


async def test_only_the_visible_ones_of_100_000_rows_are_drawn() -> None:
    app = ListApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.list.show([row(number) for number in range(MANY)])
        await pilot.pause()
        assert set(app.list.drawn) == set(range(24))
        app.list.drawn.clear()
        await pilot.press("j")
        assert set(app.list.drawn) <= {0, 1}
        await pilot.press("G")
        await pilot.pause()
        assert app.list.current == row(MANY - 1)
        assert max(app.list.drawn) == MANY - 1
        assert len(set(app.list.drawn)) <= 24 + 3
        assert app.highlighted[-1] == f"id{MANY - 1}"


async def test_rows_that_scroll_back_are_not_drawn_again_unless_they_look_different() -> None:
    app = ListApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.list.show([row(number) for number in range(100)])
        await pilot.press(*["j"] * 23)
        app.list.anew.clear()
        await pilot.press("j")
        await pilot.pause()
        assert sorted(set(app.list.anew)) == [24]
        app.list.mark(["id20"], on=True)
        await pilot.pause()
        assert 20 in app.list.anew
        app.list.anew.clear()
        app.theme = "textual-light"
        await pilot.pause()
        assert {*range(1, 25)} <= {*app.list.anew}


@pytest.mark.parametrize(
    ("keys", "cursor"),
    [
        ("j j k", 1),
        ("down down up", 1),
        ("ctrl+d", 12),
        ("ctrl+d ctrl+u", 0),
        ("G", 99),
        ("G j", 99),
        ("G g", 0),
        ("k", 0),
        ("end pageup", 87),
    ],
)
async def test_moving(keys: str, cursor: int) -> None:
    app = ListApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.list.show([row(number) for number in range(100)])
        await pilot.press(*keys.split())
        assert app.list.cursor == cursor
        assert 0 <= cursor - app.list.scroll_offset.y < 24


async def test_new_rows_keep_the_cursor_on_its_entry_or_move_it_to_the_top() -> None:
    app = ListApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.list.show([row(number) for number in range(100)])
        await pilot.press("G")
        app.list.show([row(number) for number in range(50, 200)], keep="id99")
        assert (app.list.cursor, app.list.current) == (49, row(99))
        app.list.show([row(number) for number in range(3)], keep="id99")
        assert app.list.cursor == 2  # gone: the cursor stays where it was, as far as there are lines
        app.list.show([row(number) for number in range(3)])
        assert app.list.cursor == 0
        app.list.show([])
        await pilot.press("j", "G", "enter")
        assert app.list.current is None
        await pilot.pause()
        assert app.highlighted[-1] == ""


async def test_a_click_moves_the_cursor() -> None:
    app = ListApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.list.show([row(number) for number in range(100)])
        await pilot.pause()
        await pilot.click(app.list, offset=(20, 7))
        assert app.list.cursor == 7


@pytest.mark.parametrize("width", [20, 40, 80, 120])
async def test_every_line_is_as_wide_as_the_list(width: int) -> None:
    app = ListApp()
    titles = ["日本語のファイル名は正規化する" * 9, "a\tb\nc", "e\u0301" * 50, "\x1b[31mred"]
    async with app.run_test(size=(width, 24)) as pilot:
        app.list.show([row(number, title, "archived") for number, title in enumerate(titles)])
        await pilot.pause()
        lines = [app.list.render_line(y) for y in range(8)]
        assert {line.cell_length for line in lines} == {width}
        assert {cell_len(line.text) for line in lines} == {width}


def test_text_that_does_not_fit_ends_in_an_ellipsis() -> None:
    assert fit("abc", 5) == "abc  "
    assert fit("abcdef", 4) == "abc…"
    assert fit("日本語", 4) == "日 …"
    assert fit("abc", 0) == ""
