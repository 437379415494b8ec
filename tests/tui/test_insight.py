"""The insight screen, driven by keys: findings beside each other, redrawn when the store changes, and the entries they name."""

from __future__ import annotations

from pathlib import Path

import pytest
from tui_kit import NARROW, QUEUE, SIZES, User, lore, make_template, run_app

import engram
from engram_tui.insight.screen import InsightScreen, Panel
from engram_tui.shell.picker import Picker


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which something was asked and judged."""
    made = make_template(tmp_path_factory.mktemp("template"))
    with engram.open(made, session="agent", agent="claude-code") as store:
        store.query("why does the queue consumer see a message twice")
        store.query("how to bake bread [@click=app.quit] \u202eyeast")
        store.feedback(helpful=lore(store, QUEUE).id)
    return made


async def opened(user: User) -> InsightScreen:
    await user.press("5")
    await user.sees(lambda: isinstance(user.app.current, InsightScreen) and user.app.current.query(Panel))
    screen = user.app.current
    assert isinstance(screen, InsightScreen)
    return screen


@SIZES
async def test_every_chart_is_shown_and_moving_keys_scroll(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        screen = await opened(user)
        await user.sees_text(
            "Growth", "4 entries, all of them", "Confidence", "100 % of all entries are at 0.60 or more"
        )
        top = user.screen()
        await user.press("G")
        await user.sees_text("recorded 100 %")
        if size == NARROW:
            assert "Growth" not in user.screen()
            await user.press("g")
            await user.sees(lambda: user.screen() == top)
            await user.press("j")
            await user.sees(lambda: screen.findings.scroll_y == 1)
            await user.press("k")
            await user.sees(lambda: screen.findings.scroll_y == 0)
            await user.press("ctrl+d")
            await user.sees(lambda: screen.findings.scroll_y > 5)
            await user.press("ctrl+u")
            await user.sees(lambda: screen.findings.scroll_y == 0)


async def test_questions_stay_text_and_numbers_follow_the_store(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await opened(user)
        await user.sees_text(
            "1 query finds nothing", "bake bread [@click=app.quit]", "1 judgement in 12 weeks: 100 % helpful"
        )
        assert "\u202e" not in user.screen()
        with engram.open(store.path, session="another") as other:
            other.record("Written meanwhile.", category="FACT")
        await user.sees_text("5 entries, all of them")


async def test_an_entry_that_a_chart_names_is_read_in_its_place(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        screen = await opened(user)
        await user.press("enter")
        await user.sees(lambda: isinstance(user.app.screen, Picker))
        await user.sees_text("✓1", QUEUE)
        await user.press("enter")
        await user.sees_text("The broker redelivers", "PATTERN_OUTCOME")
        assert screen.preview.has_focus
        assert screen.selected_ids() == (lore(store, QUEUE).id,)
        await user.press("escape")
        await user.sees_text("Growth")
        assert screen.findings.has_focus
