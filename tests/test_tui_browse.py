"""The browse screen, driven by keys, on a real store: what one sees and what is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from engram_tui.help import HelpScreen
from engram_tui.messages import Fetched, Matched
from textual import events
from textual.widgets import Footer, Input, Markdown, OptionList, Static

import engram
from engram.domain.errors import StoreError
from engram_tui.app import EngramApp
from engram_tui.browse import BrowseScreen
from engram_tui.reading import Matches
from engram_tui.rows import sorted_rows

if TYPE_CHECKING:
    from textual.pilot import Pilot

WIDE, NARROW = (140, 40), (80, 24)
PATIENCE = 1500  # looks at the screen, 20 ms apart; reached only where something is broken
LORE = [
    ("Money is stored as integer cents, never as float.", "ARCHITECTURAL_DECISION"),
    ("Sessions expire after 12 hours; the proxy cuts them earlier for admins.", "EDGE_CASE_DISCOVERY"),
    ("Retry with full jitter; equal waits synchronised the clients.", "FAILURE"),
    (
        "# Queue consumers must be idempotent\n\nThe broker **redelivers** after a missed ack.",
        "PATTERN_OUTCOME",
    ),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[engram.Engram]:
    """A store of four lore, the queue's the newest."""
    with engram.open(tmp_path / "s", session="t") as opened:
        for content, category in LORE:
            opened.record(content, category=category, tags=["demo"])
        yield opened


def files(store: engram.Engram) -> list[Path]:
    """The files of all lore."""
    return list(Path(store.path, "lore").rglob("*.md"))


class User:
    """Somebody at the app: presses keys, waits until the screen shows what is expected, reads it."""

    def __init__(self, app: EngramApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot
        self.press = pilot.press

    @property
    def browse(self) -> BrowseScreen:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, BrowseScreen))

    async def sees(self, expected: Callable[[], object]) -> None:
        for _ in range(PATIENCE):
            if expected():
                return
            await self.pilot.pause(0.02)
        pytest.fail(f"The screen never showed it:\n{self.screen()}")

    async def sees_text(self, *texts: str) -> None:
        await self.sees(lambda: all(text in self.screen() for text in texts))

    def screen(self) -> str:
        """The whole screen as plain text."""
        width, height = self.app.size
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text[:width] for strip in strips[:height])

    def text(self, name: str) -> str:
        return str(self.browse.query_one(f"#{name}", Static).render())

    def toasts(self) -> list[str]:
        return [f"{toast.title}: {toast.message}" for toast in self.app._notifications]

    def titles(self) -> list[str]:
        return [row.title for row in self.browse.lore_list.rows]

    async def searches(self, text: str) -> None:
        await self.press("slash", *("space" if letter == " " else letter for letter in text))
        await self.sees(lambda: self.browse.matches and self.browse.matches.text == text)


@asynccontextmanager
async def using(store: engram.Engram, size: tuple[int, int] = WIDE) -> AsyncIterator[User]:
    """The app, open, its list and heading there."""
    app = EngramApp(store)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        user = User(app, pilot)
        await user.sees(lambda: user.browse.heading is not None)
        yield user


async def test_wide_shows_list_and_lore_side_by_side(store: engram.Engram) -> None:
    async with using(store, WIDE) as user:
        await user.sees_text("The broker redelivers")
        first = next(line for line in user.screen().splitlines() if "▌" in line)
        assert first.startswith("▌·   ▆▆▆▆▆▆▁▁ .70  PATTERN     Queue consumers must be idempotent")
        assert user.titles()[-1] == "Money is stored as integer cents, never as float."
        assert "PATTERN_OUTCOME · trusted" in user.screen()
        assert "· main · 4 lore · hybrid" in user.text("heading")
        assert user.text("counts") == "4 lore · newest first"


async def test_narrow_shows_one_pane_and_keys_lead_in_and_out(store: engram.Engram) -> None:
    async with using(store, NARROW) as user:
        await user.sees_text("▆▆▆▁ .70")
        assert "broker" not in user.screen()
        await user.press("enter")
        await user.sees_text("The broker redelivers")
        assert "FAILURE" not in user.screen()
        await user.press("J")
        await user.sees_text("Retry with full jitter", "FAILURE · trusted")
        await user.press("escape")
        await user.sees_text("PATTERN     Queue consumers")
        assert user.browse.lore_list.has_focus
        assert user.browse.lore_list.cursor == 1


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
async def test_every_key_of_the_footer_fits(store: engram.Engram, size: tuple[int, int]) -> None:
    async with using(store, size) as user:
        keys = ["enter", "h", "x", "n", "/", "?", "q"]
        await user.sees(lambda: "quit" in user.screen())
        footer = user.browse.query_one(Footer)
        assert [child.key_display for child in footer.query("FooterKey")] == keys  # type: ignore[attr-defined]
        assert user.screen().splitlines()[-1].split()[::2][:3] == ["enter", "h", "x"]


async def test_search_filters_as_one_types_and_leaves_no_trace(store: engram.Engram) -> None:
    async with using(store) as user:
        await user.searches("idempotent consumers")
        assert user.titles()[0] == "Queue consumers must be idempotent"
        assert len(user.titles()) < 4
        assert user.text("counts").startswith(f"{len(user.titles())} of 4 · strong · ")
        await user.press("enter")
        assert user.browse.lore_list.has_focus
        await user.sees_text("found by words")
        await user.press("escape")
        await user.sees(lambda: len(user.titles()) == 4)
        assert user.text("counts") == "4 lore · newest first"
    assert store.session_refs() == {}


async def test_keys_of_a_burst_take_effect_in_order(store: engram.Engram) -> None:
    async with using(store) as user:
        for key, letter in [("slash", "/"), ("j", "j"), ("q", "q"), ("enter", None), ("s", "s")]:
            user.app.post_message(events.Key(key, letter))
        await user.sees(lambda: user.browse.search_line.value == "jq" and user.browse.order == "updated")
        assert user.browse.lore_list.has_focus
        await user.pilot.pause()


async def test_a_late_answer_is_dropped(store: engram.Engram) -> None:
    async with using(store) as user:
        await user.searches("retry jitter")
        before = user.titles()
        late = Matches("retry", [], "none", "hybrid", 1.0, ())
        user.browse.post_message(Matched(late))
        user.browse.post_message(Fetched("another lore", None, "late trouble"))
        await user.pilot.pause()
        assert user.titles() == before
        assert "late trouble" not in user.screen()


async def test_a_search_without_result_says_so(store: engram.Engram) -> None:
    async with using(store) as user:
        await user.searches("zzqx vwvw")
        await user.sees_text("Nothing here answers “zzqx vwvw”.", "0 of 4 · none")


@pytest.mark.parametrize(
    ("key", "confidence", "said"),
    [
        ("h", 0.78, "confidence .70 → .78, helpful 1×"),
        ("x", 0.55, "confidence .70 → .55"),
        ("n", 0.70, "noted, confidence stays .70"),
    ],
)
async def test_judging_is_written_shown_and_said(
    store: engram.Engram, key: str, confidence: float, said: str
) -> None:
    async with using(store) as user:
        await user.press("j", key)
        await user.sees(lambda: any(said in toast for toast in user.toasts()))
        row = user.browse.lore_list.rows[1]
        assert (row.title, row.confidence) == (LORE[2][0], round(confidence * 1000))
        assert user.browse.lore_list.cursor == 1
        assert store.get(row.id).lore.confidence == confidence


async def test_saying_it_twice_changes_nothing_and_says_so(store: engram.Engram) -> None:
    async with using(store, NARROW) as user:
        await user.press("h")
        await user.sees_text("Helpful")
        await user.press("h")
        await user.sees_text("Said before in this session", "stays .78")


async def test_sorting_goes_through_the_orders_and_searches_have_one_more(store: engram.Engram) -> None:
    async with using(store) as user:
        for _ in range(4):
            await user.press("s")
        await user.sees_text("4 lore · by title")
        await user.sees(lambda: user.titles() == sorted(user.titles()))
        await user.searches("retry sessions money queue")
        found = user.titles()
        await user.press("enter", "s")
        assert user.text("counts").endswith(" · newest first")
        assert user.browse.matches is not None
        assert user.titles() == [row.title for row in sorted_rows(user.browse.matches.rows, "created")]
        assert sorted(user.titles()) == sorted(found)


async def test_refresh_shows_what_others_wrote_and_keeps_the_place(store: engram.Engram) -> None:
    async with using(store) as user:
        await user.press("G")
        await asyncio.to_thread(lambda: store.record("Written meanwhile.", category="FACT"))
        await user.press("r")
        await user.sees(lambda: user.titles()[0] == "Written meanwhile.")
        assert user.browse.lore_list.cursor == 4
        assert "5 lore" in user.text("heading")


async def test_help_finds_a_key_and_runs_it(store: engram.Engram) -> None:
    async with using(store, NARROW) as user:
        await user.press("question_mark")
        await user.sees(lambda: isinstance(user.app.screen, HelpScreen))
        await user.press(*"bottom")
        await user.sees(lambda: user.app.screen.query_one(OptionList).option_count == 1)
        await user.press("enter")
        await user.sees(lambda: user.browse.lore_list.cursor == 3)
        assert user.app.screen is user.browse


async def test_an_empty_store_shows_how_lore_gets_in(tmp_path: Path) -> None:
    with engram.open(tmp_path / "empty", session="t") as empty:
        async with using(empty, NARROW) as user:
            await user.sees_text("No lore here yet", "engram record", "engram import", "engram connect")
            await user.press("j", "enter", "h")
            assert not user.browse.has_class("-reading")


async def test_lore_that_vanished_is_one_line_and_no_traceback(store: engram.Engram) -> None:
    async with using(store) as user:
        for file in files(store):
            file.unlink()
        await user.press("h")
        await user.sees(lambda: "There is no lore" in user.text("trouble"))
        assert "Traceback" not in user.screen()
        await user.press("r")
        await user.sees_text("No lore here yet")
        assert user.text("trouble") == ""


async def test_a_store_that_cannot_be_read_is_one_line(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with using(store) as user:

        def refuse(*_: object, **__: object) -> None:
            raise StoreError("The disk is gone.", "Plug it in.")

        monkeypatch.setattr("engram_tui.reading.list_hits", refuse)
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
        async with using(store) as user:
            await user.sees_text("evil \ufffd2J[bold]title[/]", "bold ␛]0;owned␇ \ufffd end")
            acting = {"\x1b", "\x9b", "\x07", "\u202e"}
            assert not acting & set(user.screen())


async def test_pasted_control_characters_are_shown_not_obeyed(store: engram.Engram) -> None:
    async with using(store) as user:
        await user.press("slash")
        user.browse.query_one(Input).post_message(events.Paste("a\x1b[2Jb"))
        await user.sees(lambda: user.browse.search_line.value == "a␛[2Jb")


async def test_markdown_too_heavy_to_render_is_shown_as_it_is_written(tmp_path: Path) -> None:
    table = "# Ports\n\n| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 60
    with engram.open(tmp_path / "s", session="t") as store:
        store.record(table, category="FACT")
        async with using(store) as user:
            await user.sees_text("| 1 | 2 |")
            assert not user.browse.query_one(Markdown).display


async def test_quitting_ends_the_app_with_success(store: engram.Engram) -> None:
    app = EngramApp(store)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.press("q")
    assert app.return_code == 0
