"""The settings screen: values, where they come from, and changing them in the user's own file; the API behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from textual.widgets import Input
from tui_kit import NARROW, SIZES, WIDE, User, open_copy, run_app

from engram.domain.errors import ConfigError
from engram_tui.settings.screen import SettingsScreen
from engram_tui.widgets.option_lines import OptionLines

if TYPE_CHECKING:
    import engram


@pytest.fixture
def store(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[engram.Engram]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "engram").mkdir(parents=True)
    with open_copy(template, tmp_path) as opened:
        yield opened


def own(tmp_path: Path) -> str:
    return (tmp_path / "config" / "engram" / "config.toml").read_text("utf-8")


async def opens(user: User, name: str) -> SettingsScreen:
    """The settings, the cursor on that one."""
    await user.press("comma")
    await user.sees(lambda: isinstance(user.app.screen, SettingsScreen) and user.app.screen.settings)
    screen = cast("SettingsScreen", user.app.screen)
    names = [one.key.name for one in screen.settings]
    screen.query_one(OptionLines).highlighted = names.index(name)
    await user.sees(lambda: screen.current and screen.current.key.name == name)
    return screen


@SIZES
async def test_a_theme_is_picked_used_and_unset(
    store: engram.Engram, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        screen = await opens(user, "app.theme")
        await user.sees_text("one of: dark, light", "the default")
        await user.press("enter")
        user.types("colour\n")
        await user.told("Settings", "app.theme is set in your own file: colour-blind")
        assert user.app.theme == "colour-blind"
        assert 'theme = "colour-blind"' in own(tmp_path)
        await user.sees(lambda: screen.current and screen.current.origin == "user")
        await user.sees_text("● app.theme", "from your own file")
        await user.press("delete")
        await user.told("Settings", "no longer set", "dark")
        assert user.app.theme == "dark"
        assert "theme" not in own(tmp_path)
        await user.press("L")
        await user.told("Copied", "config.toml")
        await user.press("escape")
        await user.sees(lambda: user.app.screen is user.browse)


async def test_numbers_are_checked_and_booleans_are_picked(store: engram.Engram, tmp_path: Path) -> None:
    async with run_app(store, NARROW) as user:
        screen = await opens(user, "recall.limit")
        for typed, said in (("1000", "must be from 1 to 100"), ("many", "must be a whole number")):
            await user.press("enter")
            await user.sees(lambda: user.app.screen.query(Input))
            user.app.screen.query_one(Input).value = typed
            await user.press("enter")
            await user.sees(lambda said=said: user.app.screen is screen and said in user.text("error"))
        await user.press("enter")
        user.app.screen.query_one(Input).value = "8"
        await user.press("enter")
        await user.told("Settings", "recall.limit is set in your own file: 8")
        assert "limit = 8" in own(tmp_path)
        assert store.store.settings.get("recall.limit") == 8
        await user.sees(lambda: user.text("error") == "")
        names = [one.key.name for one in screen.settings]
        screen.query_one(OptionLines).highlighted = names.index("recall.log")
        await user.press("enter")
        user.types("false\n")
        await user.told("recall.log is set in your own file: false")
        assert "engram config recall.log false --user" in user.app.command_log.text()
        await user.press("1")
        await user.sees(lambda: user.app.screen is user.browse)


async def test_tables_can_only_be_edited_in_the_file(store: engram.Engram) -> None:
    async with run_app(store, WIDE) as user:
        screen = await opens(user, "app.keys")
        await user.sees_text("edit the file")
        await user.press("enter", "delete")
        await user.pilot.pause(0.05)
        assert user.app.screen is screen


def test_the_api_says_where_each_value_comes_from(store: engram.Engram) -> None:
    origins = {one.key.name: one.origin for one in store.configuration()}
    assert origins["store.placement"] == "store"
    assert origins["recall.limit"] == "default"
    assert store.configure("recall.limit", "9") == 9
    assert {one.key.name: one.origin for one in store.configuration()}["recall.limit"] == "user"
    with pytest.raises(ConfigError):
        store.configure("recall.limit", "none")
    assert store.configure("recall.limit", None) == 5
