"""The live screen, driven by keys: what agents ask appears by itself, is opened, filtered and judged there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tui_kit import MONEY, NARROW, QUEUE, RETRY, SIZES, WIDE, User, lore, run_app
from tui_stores import asked

import engram
from engram_tui.live.screen import LiveScreen


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asked(tmp_path_factory.mktemp("template"))


def live(user: User) -> LiveScreen:
    found = user.app.current
    assert isinstance(found, LiveScreen)
    return found


async def opened(user: User) -> LiveScreen:
    await user.press("6")
    await user.sees(lambda: isinstance(user.app.current, LiveScreen) and live(user).last)
    return live(user)


def titles(user: User) -> list[str]:
    """What the lines say in their widest column."""
    return [next(part.text for part in line.parts if not part.cells) for line in live(user).line_list.lines]


@SIZES
async def test_queries_show_with_their_entries_and_what_was_withheld(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        await opened(user)
        await user.sees_text(
            "Engram (clau",
            "“why does",
            QUEUE,
            "withheld",
            "too weak",
            "nothing",
            "recorded",
        )
        assert "following" in user.text("about")
        await user.press("K", "K")
        await user.press("J")
        assert "“how to bake bread" in titles(user)[live(user).line_list.cursor]
        assert "G follows" in user.text("about")
        await user.press("enter")
        await user.sees_text(
            "how to bake bread without yeast", "session agent", "answer: none", "withheld, too weak:"
        )
        assert live(user).preview.has_focus
        await user.press("escape", "G")
        await user.sees(lambda: "following" in user.text("about"))
        assert live(user).line_list.has_focus


async def test_the_cursor_follows_new_events_until_the_user_scrolls(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        screen = await opened(user)
        with engram.open(store.path, session="other", agent="codex") as other:
            other.query("retry with jitter clients")
            await user.sees_text("Engram (code", "“retry with jitter clients”")
            assert screen.follows()
            await user.press("g")
            assert screen.line_list.cursor == 0
            other.query("integer cents for money")
            await user.sees(lambda: "1 new below" in user.text("about"))
            assert screen.line_list.cursor == 0
        await user.press("G")
        await user.sees(lambda: "following" in user.text("about"))


async def test_f_shows_only_what_was_recalled_then_only_where_something_was_missing(
    store: engram.Engram,
) -> None:
    store.query("integer cents for money")
    async with run_app(store, WIDE) as user:
        await opened(user)
        assert any(text.startswith("recorded") for text in titles(user))
        await user.press("f")
        await user.sees(lambda: user.text("about").startswith("recalls"))
        assert not any(text.startswith("recorded") for text in titles(user))
        await user.press("f")
        await user.sees(lambda: user.text("about").startswith("missing or weak answers"))
        assert "“how to bake bread without yeast”" in titles(user)
        await user.press("f")
        await user.sees(lambda: user.text("about").startswith("everything"))


async def test_a_forgotten_entry_is_shown_as_such(store: engram.Engram) -> None:
    store.forget(lore(store, QUEUE).id)
    async with run_app(store) as user:
        await opened(user)
        await user.sees_text("no longer exists")


async def test_hostile_questions_stay_text(store: engram.Engram) -> None:
    store.query("\x1b[31mred\x1b[0m [@click=app.quit]x[/] \u202egnp")
    async with run_app(store) as user:
        await opened(user)
        await user.sees_text("[@click=app.quit]")
        assert "\x1b" not in user.screen()
        assert "\u202e" not in user.screen()
        assert {MONEY, RETRY} <= {shown.lore.title for shown in store.list(limit=None).lore}
