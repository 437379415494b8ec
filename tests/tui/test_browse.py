"""The browse screen, driven by keys, on a real store: what it shows and what it writes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from effort import sampled
from textual import events
from textual.widgets import Input
from tui_kit import MONEY, NARROW, QUEUE, RETRY, SIZES, WIDE, run_app, shown

import engram
from engram.domain.errors import StoreError
from engram_tui.app import EngramApp
from engram_tui.browse.messages import counts
from engram_tui.browse.queries import Matches
from engram_tui.widgets import mark_screen
from engram_tui.widgets.entry_list import EntryList
from engram_tui.widgets.rows import sort_rows


def files(store: engram.Engram) -> list[Path]:
    """The files of all entries."""
    return list(Path(store.path, "lore").rglob("*.md"))


async def test_wide_shows_list_and_entry_side_by_side(store: engram.Engram) -> None:
    async with run_app(store, WIDE) as user:
        await user.sees_text("The broker redelivers")
        first = next(line for line in user.screen().splitlines() if "▌" in line)
        assert first.startswith("▌ ▆▆▆▁ .70  PATTERN     Queue consumers must be idempotent          now │")
        assert user.titles()[-1] == "Money is stored as integer cents, never as float."
        assert "PATTERN_OUTCOME · unconfirmed" in user.screen()
        assert "· main · 4 entries · hybrid" in user.text("heading")
        assert user.text("counts") == "4 entries"
        assert user.text("facets").startswith("all entries · newest first")


async def test_a_key_held_down_reads_one_entry_at_its_end_and_a_short_list_is_read_once(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engram_tui.browse import queries

    asked, read = list[object](), queries.read_page
    monkeypatch.setattr(queries, "read_page", lambda *given: (asked.append(given), read(*given))[1])
    async with run_app(store, WIDE) as user:
        await user.sees_text("The broker redelivers")
        assert len(asked) == 1
        seen, get = list[str](), store.get
        monkeypatch.setattr(type(store), "get", lambda _self, ref: (seen.append(ref), get(ref))[1])
        user.types("jkjkjj")
        last = store.list().lore[2].lore
        await user.sees(lambda: user.browse.preview.shown_id == last.id)
        assert seen[-1] == last.id
        assert len(seen) < 6  # one for each key is what must not be; a busy machine may pause between two


async def test_a_narrow_terminal_shows_one_pane_and_keys_switch_between_them(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await user.sees_text("▆▆▆▁ .70")
        assert "broker" not in user.screen()
        await user.press("tab")
        await user.sees_text("The broker redelivers")
        assert "FAILURE" not in user.screen()
        await user.press("J")
        await user.sees_text("Retry with full jitter", "FAILURE · unconfirmed")
        await user.press("escape")
        await user.sees_text("PATTERN     Queue consumers")
        assert user.browse.entry_list.has_focus
        assert user.browse.entry_list.cursor == 1


async def test_an_empty_list_wraps_its_placeholder(tmp_path: Path) -> None:
    with engram.open(tmp_path / "empty") as store:
        async with run_app(store, (40, 12)) as user:
            await user.sees_text(
                "This store is empty. Three ways to", "fill it:", 'be idempotent." --category'
            )


@SIZES
async def test_the_footer_shows_what_fits_and_always_help_and_quit(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        keys = user.screen().splitlines()[-1]
        assert keys.startswith(" enter open  / search  h helpful  x incorrect  n not relevant")
        assert keys.rstrip().endswith("? keys  q quit")
        assert ("e edit" in keys) == (size == WIDE)


async def test_search_filters_while_typing_and_leaves_no_trace(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.searches("idempotent consumers")
        assert user.titles()[0] == "Queue consumers must be idempotent"
        assert len(user.titles()) < 4
        assert user.text("counts").startswith(f"{len(user.titles())} of 4 · strong · ")
        await user.press("enter")
        assert user.browse.entry_list.has_focus
        await user.sees_text("found by words")
        await user.press("escape")
        await user.sees(lambda: len(user.titles()) == 4)
        assert user.text("counts") == "4 entries"
    assert store.session_refs() == {}


async def test_a_late_answer_is_dropped(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.searches("retry jitter")
        before = user.titles()
        user.browse.take_matches(Matches("retry", [], "none", "hybrid", 1.0, ()))
        user.browse.take_entry("another entry", shown(store, RETRY))
        assert user.titles() == before


async def test_a_search_without_result_says_so(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.searches("zzqx vwvw")
        await user.sees_text("Nothing here answers “zzqx vwvw”.", "0 of 4 · none")


async def test_judging_an_entry_twice_changes_nothing_and_says_so(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await user.press("h")
        await user.told("Helpful", "helpful 1×")
        await user.press("h")
        await user.told("was judged in this session before", "stays .78")


async def test_sorting_goes_through_the_orders_and_searches_have_one_more(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.press("s", "s", "s", "s")
        await user.sees_text("all entries · by title")
        await user.sees(lambda: user.titles() == sorted(user.titles()))
        await user.searches("retry sessions money queue")
        found = user.titles()
        await user.press("enter", "s")
        await user.sees_text("all entries · newest first")
        assert user.browse.matches is not None
        assert user.titles() == [row.title for row in sort_rows(user.browse.matches.rows, "created")]
        assert sorted(user.titles()) == sorted(found)


async def test_changes_by_others_appear_and_the_cursor_keeps_its_place(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.press("space", "G")
        with engram.open(store.path, session="another") as other:
            await asyncio.to_thread(lambda: other.record("Outcome meanwhile.", category="FACT"))
        await user.sees(lambda: user.titles()[0] == "Outcome meanwhile.")
        current = user.browse.entry_list.current
        assert current is not None
        assert current.title == MONEY
        assert [store.get(name).lore.title for name in user.browse.entry_list.marked] == [QUEUE]
        await user.sees(lambda: "5 entries" in user.text("heading"))


async def test_an_editor_that_writes_in_place_is_noticed(store: engram.Engram) -> None:
    async with run_app(store) as user:
        path = Path(store.path, shown(store, MONEY).path)
        await asyncio.to_thread(
            lambda: path.write_bytes(path.read_bytes().replace(b"integer cents", b"whole cents"))
        )
        await user.sees(lambda: any("whole cents" in title for title in user.titles()))


async def test_an_empty_store_shows_how_to_fill_it(tmp_path: Path) -> None:
    with engram.open(tmp_path / "empty", session="t") as empty:
        async with run_app(empty, NARROW) as user:
            await user.sees_text("This store is empty", "engram record", "engram import", "engram connect")
            await user.press("j", "h", "enter")
            await user.sees_text("Fill the store")
            user.types("import\n")
            await user.told("Copied", "engram import FOLDER")
            assert user.app.clipboard == "engram import FOLDER"


async def test_a_vanished_entry_is_reported_in_one_line_without_a_traceback(store: engram.Engram) -> None:
    async with run_app(store) as user:
        for file in files(store):
            file.unlink()
        await user.press("h")
        await user.sees(
            lambda: "There is no entry" in user.screen() or "This store is empty" in user.screen()
        )
        assert "Traceback" not in user.screen()
        await user.press("r")
        await user.sees_text("This store is empty")
        assert user.text("error") == ""


async def test_an_unreadable_store_is_reported_in_one_line(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with run_app(store) as user:

        def refuse(*_: object, **__: object) -> None:
            raise StoreError("The disk is gone.", "Plug it in.")

        monkeypatch.setattr("engram_tui.browse.queries.list_packed", refuse)
        await user.press("r")
        await user.sees_text("The disk is gone. Plug it in.")
        assert len(user.titles()) == 4


async def test_nothing_in_lore_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    with engram.open(tmp_path / "s", session="t") as store:
        store.record("plain [bold]title[/] first\n\nbody", category="FACT")
        [file] = files(store)
        hostile = (
            "evil \x9b2J[bold]title[/] \u202e[@click=app.quit]x[/]\n\n**bold** \x1b]0;owned\x07 \u202e end"
        )
        head = file.read_text("utf-8").split("plain [bold]")[0]
        file.write_text(head + hostile, "utf-8")
        store.refresh()
        async with run_app(store) as user:
            await user.sees_text("evil \ufffd2J[bold]title[/]", "bold ␛]0;owned␇ \ufffd end")
            acting = {"\x1b", "\x9b", "\x07", "\u202e"}
            assert not acting & set(user.screen())


async def test_pasted_control_characters_are_shown_not_obeyed(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.press("slash")
        user.browse.query_one(Input).post_message(events.Paste("a\x1b[2Jb"))
        await user.sees(lambda: user.browse.search_line.value == "a␛[2Jb")


async def test_markdown_too_heavy_to_render_is_shown_as_it_is_written(tmp_path: Path) -> None:
    table = "# Ports\n\n| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 200
    with engram.open(tmp_path / "s", session="t") as store:
        store.record(table, category="FACT")
        async with run_app(store) as user:
            await user.sees_text("| 1 | 2 |", "|---|---|")


async def test_quitting_ends_the_app_with_success(store: engram.Engram) -> None:
    app = EngramApp(store)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.press("q")
    assert app.return_code == 0


async def test_columns_have_headings_and_new_entries_are_marked_until_visited(
    store: engram.Engram,
) -> None:
    async with run_app(store, NARROW) as user:
        rows = user.browse.entry_list
        await user.sees(lambda: "category" in user.text("columns") and "age" in user.text("columns"))
        with engram.open(store.path, session="other") as other:
            other.record("Arrived while the list was open.", category="FACT")
        await user.sees(lambda: len(rows.arrived) == 1)
        await user.sees_text("1 new (+)", " +", "Arrived while the list was open.")
        assert rows.scroll_offset.y == 0
        await user.press("g")
        await user.sees(lambda: not rows.arrived)


@pytest.mark.parametrize("key", ["1", "2"], ids=["browse", "inbox"])
async def test_ages_are_redrawn_while_nothing_else_happens(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(mark_screen, "AGES_INTERVAL", 0.05)
    async with run_app(store, NARROW) as user:
        await user.press(key)
        await user.sees(lambda: user.app.screen.query(EntryList).first().now)
        before = user.app.screen.query_one(EntryList).now
        await user.sees(lambda: user.app.screen.query_one(EntryList).now > before > 0)


@sampled("width", [40, 80, 120, 200], everyday=2)
async def test_titles_get_the_room_they_need(store: engram.Engram, width: int) -> None:
    async with run_app(store, (width, 24)) as user:
        await user.sees(lambda: user.browse.entry_list.rows)
        columns = user.browse.entry_list._columns(user.browse.entry_list.size.width)
        assert columns["title"] >= min(24, width // 2)


def test_counts_of_the_whole_list_and_of_a_part() -> None:
    assert counts(None, 10_412, 10_412) == "10,412 entries"
    assert counts(None, 12, 10_412) == "12 of 10,412 entries"
