"""Every key of the screens that show entries, at both sizes: its effect is in the store or on the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from effort import is_thorough
from textual.widgets import TextArea
from tui_kit import (
    MONEY,
    NARROW,
    QUEUE,
    RETRY,
    SIZES,
    WIDE,
    lore,
    make_template,
    open_without_editor,
    run_app,
    shown,
    with_store,
)
from tui_stores import asked, with_a_past
from tui_tour import Tour

from engram_tui.entry.screen import EntryScreen
from engram_tui.insight.screen import InsightScreen, Panel
from engram_tui.live.screen import LiveScreen
from engram_tui.new_entry.form import NewEntryForm
from engram_tui.settings.screen import SettingsScreen
from engram_tui.shell import key_queue
from engram_tui.shell.picker import Picker
from engram_tui.shell.text_screen import CommandLogScreen
from engram_tui.widgets.compare import Compare

if TYPE_CHECKING:
    import engram


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {"four": make_template, "past": with_a_past, "asked": asked}
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in made.items()}


@pytest.fixture
def store(
    request: pytest.FixtureRequest,
    templates: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[engram.Engram]:
    """A store of the kind that the test is marked with, where no editor is set."""
    with open_without_editor(templates[request.param], tmp_path, monkeypatch) as opened:
        yield opened


def write_over(file: Path, old: bytes, new: bytes) -> None:
    """Change a file as an editor does."""
    file.write_bytes(file.read_bytes().replace(old, new))


DEEDS = {
    "copy_path",
    "copy_name",
    "open_file",
    "archive",
    "pin",
    "tags",
    "category",
    "edit",
    "undo",
}
JUDGEMENTS = {"helpful", "incorrect", "not_relevant"}


async def commands_and_judgements(tour: Tour, title: str, *, everyday: bool) -> None:
    """All of both; every day they are done at one size in the list, at the other in the screen of an entry."""
    if everyday or is_thorough():
        await all_judgements(tour, title)
        await all_commands(tour, title)
        assert tour.tried >= DEEDS | JUDGEMENTS
    tour.tried |= DEEDS | JUDGEMENTS


async def all_commands(tour: Tour, title: str) -> None:
    """What can be done to an entry, from whatever screen shows it: each is undone and redone."""
    user, store = tour.user, tour.store
    path, entry_id = Path(store.path, shown(store, title).path), lore(store, title).id
    await tour.does("copy_path", lambda: user.app.clipboard == str(path))
    await tour.does("copy_name", lambda: user.app.clipboard in (entry_id, store.get(entry_id).ref))
    await tour.does("open_file", lambda: True, told=str(path.name)[:20])
    is_archived = lambda: lore(store, title).status == "archived"  # noqa: E731
    await tour.changes("archive", is_archived, told="is archived", stays=True)
    await tour.does("archive", lambda: not is_archived(), told="is active")
    await tour.changes("pin", lambda: lore(store, title).pinned, told="is pinned")
    await tour.changes(
        "tags", lambda: lore(store, title).tags == ("queue",), types="queue -demo\n", told="+queue −demo"
    )
    await tour.changes(
        "category", lambda: lore(store, title).category == "FACT", types="fact\n", told="is FACT now"
    )
    await tour.does("edit", lambda: user.app.screen.query(TextArea))
    area = user.app.screen.query_one(TextArea)
    area.text = area.text.replace("jitter", "wobble")
    await user.press("ctrl+s")
    await user.told("Edit", "is changed")
    assert "wobble" in store.get(entry_id).lore.content
    await tour.does("undo", lambda: "jitter" in store.get(entry_id).lore.content, told="Undone")


async def all_judgements(tour: Tour, title: str) -> None:
    """Helpful, incorrect and not relevant, each in the file and undone."""
    store, moves = tour.store, [("helpful", 0.78, ".70 → .78"), ("incorrect", 0.55, ".70 → .55")]
    for name, confidence, said in moves:
        await tour.changes(name, lambda wanted=confidence: lore(store, title).confidence == wanted, told=said)  # type: ignore[misc]
    judged = lambda: any(one.details.get("not_relevant") for one in store.live())  # noqa: E731
    await tour.does("not_relevant", judged, told="confidence stays .70")


@pytest.mark.slow
@SIZES
@with_store("four")
async def test_browse(store: engram.Engram, size: tuple[int, int]) -> None:
    async with run_app(store, size) as user:
        tour, browse = Tour(user, store), user.browse
        rows = browse.entry_list
        await tour.does("list_bottom", lambda: rows.cursor == 3)
        await tour.does("list_up", lambda: rows.cursor == 2)
        await tour.does("list_top", lambda: rows.cursor == 0)
        await tour.does("half_page_down", lambda: rows.cursor == 3)
        await tour.does("half_page_up", lambda: rows.cursor == 0)
        await tour.does("list_down", lambda: rows.cursor == 1)
        assert user.titles()[1] == RETRY
        await commands_and_judgements(tour, RETRY, everyday=size == NARROW)
        await tour.does("mark", lambda: list(rows.marked) == [lore(store, RETRY).id] and rows.cursor == 2)
        await tour.does("mark_all", lambda: len(rows.marked) == 4)
        await user.press("a")
        await user.told("4 entries are archived")
        assert {one.lore.status for one in store.list(limit=None).lore} == {"archived"}
        await user.press("u")
        await user.told("Undone", "4 entries")
        await tour.does("clear", lambda: not rows.marked)
        await tour.changes("forget", lambda: len(store.list(limit=None).lore) == 3, told="forgotten")
        await tour.does("sort", lambda: browse.order == "updated")
        for _ in range(6):
            await user.press("s")
        assert browse.order == "created"
        await tour.does("filter", lambda: user.titles()[:1] == [MONEY], types="money cents\n")
        await user.press("escape")
        await tour.does("facet", lambda: isinstance(user.app.screen, Picker))
        user.types("category\n")
        await user.sees_text("Filter by category", "FAILURE")
        user.types("FAILURE\n")
        await user.sees(lambda: user.titles() == [RETRY])
        await tour.does("no_facets", lambda: len(user.titles()) == 4)
        await user.press("g")
        await tour.does("read", browse.is_reading)
        await tour.does("next_lore", lambda: browse.preview.shown_id == lore(store, RETRY).id)
        await tour.does("previous_lore", lambda: browse.preview.shown_id == lore(store, QUEUE).id)
        await tour.does("back", lambda: rows.has_focus)
        await tour.does("open", lambda: isinstance(user.app.screen, EntryScreen))
        assert tour.left_out("browse") == set()


@SIZES
@with_store("four")
async def test_typing_a_search(store: engram.Engram, size: tuple[int, int]) -> None:
    async with run_app(store, size) as user:
        rows, first, last = user.browse.entry_list, size == NARROW, size == WIDE
        await user.searches("retry sessions money queue")
        assert len(rows.rows) > 1
        await user.press("down" if first else "ctrl+n")
        await user.sees(lambda: rows.cursor == 1)
        await user.press("up")
        await user.sees(lambda: rows.cursor == 0)
        await user.press("enter" if first else "tab")
        await user.sees(lambda: rows.has_focus)
        assert user.browse.search_text
        await user.press("slash", "escape")
        await user.sees(lambda: len(rows.rows) == 4 and not user.browse.search_text)
        assert last or user.app.undo_stack.done == []


@with_store("four")
async def test_a_search_keeps_its_first_letter_where_the_list_is_busy_longer_than_keys_wait(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a sync that brought much: `/` waits for the list, and no letter may overtake it."""

    async def draws() -> None:
        while user.app._key_queue._task is None:  # noqa: ASYNC110 - until a key is on its way
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            pass

    async with run_app(store, NARROW) as user:
        monkeypatch.setattr(key_queue, "PATIENCE", 0.4)
        user.browse.entry_list.call_later(draws)
        await user.searches("queue")
        assert user.app.is_running


@with_store("four")
async def test_letters_that_come_after_the_slash_wait_for_it(store: engram.Engram) -> None:
    """A terminal may bring `/` and what follows in two reads, the second before the list has dealt with the first."""
    async with run_app(store, NARROW) as user:
        rested = asyncio.Event()
        user.browse.entry_list.call_later(rested.wait)
        user.types("/")
        for _ in range(20):
            await asyncio.sleep(0)
        user.types("pqueue")  # on the list, p pins and q ends the app
        for _ in range(20):
            await asyncio.sleep(0)
        rested.set()
        await user.sees(lambda: user.browse.search_text == "pqueue")
        assert not any(one.lore.pinned for one in store.list(limit=None).lore)


@pytest.mark.slow
@SIZES
@with_store("four")
async def test_keys_that_every_screen_has(store: engram.Engram, size: tuple[int, int]) -> None:
    async with run_app(store, size) as user:
        tour, app = Tour(user, store), user.app
        await tour.does("show_keys", lambda: user.browse.entry_list.cursor == 3, types="to the last\n")
        await tour.does("palette", lambda: isinstance(app.screen, Picker))
        user.types("pin it\n")
        await user.told("Pin", "is pinned")
        assert lore(store, MONEY).pinned
        await user.press("g")
        await tour.does("repeat", lambda: lore(store, QUEUE).pinned, told="is pinned")
        await tour.does("undo", lambda: not lore(store, QUEUE).pinned, told="Undone")
        await tour.does("redo", lambda: lore(store, QUEUE).pinned, told="Redone")
        await tour.does(
            "undo_list", lambda: not lore(store, MONEY).pinned, types="integer cents\n", told="Undone"
        )
        assert lore(store, QUEUE).pinned
        await tour.does("new_lore", lambda: isinstance(app.screen, NewEntryForm))
        await user.press("escape")
        write_over(Path(store.path, shown(store, MONEY).path), b"integer cents", b"whole cents")
        await tour.does("refresh", lambda: any("whole cents" in title for title in user.titles()))
        await tour.does("log", lambda: isinstance(app.screen, CommandLogScreen))
        assert "engram undo" in app.command_log.text()
        await user.press("escape")
        await tour.does("theme", lambda: app.theme == "light", told="light")
        await tour.does("settings", lambda: isinstance(app.screen, SettingsScreen))
        await user.press("escape")
        for number, name in enumerate(("Inbox", "Consolidate", "Sync", "Insight", "Live", "Graph"), 2):
            await tour.does(f"go_{number}", lambda name=name: type(app.screen).__name__ == f"{name}Screen")  # type: ignore[misc]
        await tour.does("go_1", lambda: app.screen is user.browse)
        await tour.does("leave", lambda: not app.is_running)
        assert tour.left_out("browse", with_frame=True) - tour.left_out("browse") <= {
            "list_down", "list_up", "half_page_down", "half_page_up", "list_top", "list_bottom",
        }  # fmt: skip


@pytest.mark.slow
@SIZES
@with_store("past")
async def test_an_entry(store: engram.Engram, size: tuple[int, int]) -> None:
    async with run_app(store, size) as user:
        tour = Tour(user, store)
        await user.press("j", "enter")  # the newest is the note
        await user.sees(lambda: isinstance(user.app.screen, EntryScreen))
        one = cast("EntryScreen", user.app.screen)
        await user.sees(lambda: one.links and len(one.versions) == 4 and one.queries)
        part = lambda: one.focused.id if one.focused else ""  # noqa: E731
        await tour.does("next_part", lambda: part() == "facts")
        await tour.does("previous_part", lambda: part() == "text")
        await tour.does("history", lambda: part() == "versions")
        await tour.does("mark_version", lambda: one.marked_version == one.versions[0].commit)
        await user.press("G")
        await tour.does("open_line", lambda: isinstance(user.app.screen, Compare))
        await user.press("escape")
        await tour.does("links", lambda: part() == "links")
        await user.press("enter")
        await user.sees(lambda: one.came_from == [lore(store, QUEUE).id])
        await tour.does("leave_lore", lambda: one.shown and one.shown.lore.title == QUEUE)
        await tour.does("next_lore", lambda: one.shown and one.shown.lore.title == RETRY)
        await commands_and_judgements(tour, RETRY, everyday=size == WIDE)
        await tour.does("previous_lore", lambda: one.shown and one.shown.lore.title == QUEUE)
        await tour.changes(
            "forget", lambda: len(store.list(limit=None).lore) == 4, told="forgotten", stays=True
        )
        await user.sees_text("no longer exists")
        await user.press("h")  # nothing to judge
        await tour.does("undo", lambda: one.shown and one.shown.lore.title == QUEUE)
        assert tour.left_out("entry") == set()


@pytest.mark.slow
@SIZES
@with_store("asked")
async def test_live(store: engram.Engram, size: tuple[int, int]) -> None:
    async with run_app(store, size) as user:
        tour = Tour(user, store)
        await user.press("6")
        await user.sees(lambda: isinstance(user.app.current, LiveScreen) and user.app.current.last)
        live = cast("LiveScreen", user.app.current)
        lines = live.line_list
        await tour.does("previous_entry", lambda: lines.line and lines.line.id.endswith(":"))
        at = lines.cursor
        await tour.does("previous_entry", lambda: lines.cursor < at)
        await tour.does("next_entry", lambda: lines.cursor == at)
        await user.press("K", "j")  # the first entry of the first question
        await user.sees(lambda: live.selected_ids() == (lore(store, QUEUE).id,))
        for name, confidence, said in (("helpful", 0.78, ".70 → .78"), ("incorrect", 0.55, ".70 → .55")):
            await tour.changes(
                name, lambda wanted=confidence: lore(store, QUEUE).confidence == wanted, told=said
            )  # type: ignore[misc]
        before = len(store.live())
        await tour.does("not_relevant", lambda: len(store.live()) > before, told="confidence stays")
        await tour.does("read", live.is_reading)
        await tour.does("back", lambda: lines.has_focus)
        await tour.does("live_follow", live.follows)
        await tour.does("live_only", lambda: user.text("about").startswith("recalls"))
        assert tour.left_out("live") == set()


@pytest.mark.slow
@SIZES
@with_store("asked")
async def test_insight(store: engram.Engram, size: tuple[int, int]) -> None:
    store.feedback(helpful=lore(store, QUEUE).id)
    async with run_app(store, size) as user:
        tour = Tour(user, store)
        await user.press("5")
        await user.sees(lambda: isinstance(user.app.current, InsightScreen) and user.app.current.query(Panel))
        screen = cast("InsightScreen", user.app.current)
        await user.sees_text("Growth", "Without an answer" if size == WIDE else "Confidence")
        await user.pilot.resize_terminal(size[0], 16)  # the findings are higher than that
        await user.sees(lambda: screen.findings.max_scroll_y > 8)
        place = lambda: screen.findings.scroll_y  # noqa: E731
        await tour.does("scroll_findings", lambda: place() == 1)
        await tour.does("scroll_back", lambda: place() == 0)
        await tour.does("page_on", lambda: place() > 3)
        await tour.does("page_back", lambda: place() == 0)
        await tour.does("to_bottom", lambda: place() == screen.findings.max_scroll_y)
        await tour.does("to_top", lambda: place() == 0)
        await tour.does("read", lambda: screen.is_reading(), types="\n")
        assert screen.selected_ids() == (lore(store, QUEUE).id,)
        await tour.does("back", lambda: screen.findings.has_focus)
        assert tour.left_out("insight") == set()
