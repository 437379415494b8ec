"""The first run: create a store, join one, or look at a demonstration; then the app opens it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input
from tui_kit import SIZES

import engram
from engram.adapters.files.places import user_store
from engram.usecases.opening.open_store import is_first_run
from engram_tui.first_run import FirstRun

if TYPE_CHECKING:
    from textual.pilot import Pilot


async def ends(pilot: Pilot[object]) -> object:
    for _ in range(1500):
        if not pilot.app.is_running or pilot.app._exit:
            return pilot.app.return_value
        await pilot.pause(0.02)
    raise AssertionError("it never ended")


def drawn(app: FirstRun) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somewhere without a store, for somebody without one."""
    for name in ("data", "config", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ENGRAM_STORE", raising=False)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


async def test_a_small_terminal_shows_all_choices(folder: Path) -> None:
    app = FirstRun(str(folder))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause(0.05)
        assert "Look at a demonstration" in drawn(app)
        assert "a made-up team" in drawn(app)


@SIZES
async def test_there_are_three_choices_and_leaving_creates_nothing(
    folder: Path, size: tuple[int, int]
) -> None:
    app = FirstRun(str(folder))
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.05)
        for text in (
            "Start a store of my own",
            "Join one by its address",
            "Look at a demonstration",
            "markdown and git",
        ):
            assert text in drawn(app)
        await pilot.press("j", "k", "enter")
        await pilot.pause(0.05)
        assert "For this folder only" in drawn(app)
        await pilot.press("escape", "escape")
        assert await ends(pilot) is None
    assert is_first_run(str(folder))


@pytest.mark.parametrize("where", ["everywhere", "here"])
async def test_a_store_is_created_in_the_place_that_was_picked(folder: Path, where: str) -> None:
    app = FirstRun(str(folder))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter", *(["j"] if where == "here" else []), "enter")
        path = await ends(pilot)
    assert path == (str(folder) if where == "here" else user_store())
    assert not is_first_run(str(folder))
    with engram.open(str(path), session="t") as store:
        assert store.list().total == 0


async def test_a_store_is_joined_by_its_address_and_a_wrong_address_can_be_corrected(
    folder: Path, tmp_path: Path
) -> None:
    with engram.open(tmp_path / "team", session="t") as team:
        team.record("Known to all.", category="FACT")
    app = FirstRun(str(folder))
    async with app.run_test(size=(80, 24)) as pilot:
        for address in (str(tmp_path / "nowhere"), str(tmp_path / "team")):
            await pilot.press(*(["j"] if address.endswith("nowhere") else []), "enter")
            await pilot.pause(0.05)
            app.screen.query_one(Input).value = address
            await pilot.press("enter")
            await pilot.pause(0.05)
            app.screen.query_one(Input).value = str(folder / "joined")
            await pilot.press("enter")
            if address.endswith("nowhere"):
                for _ in range(1500):
                    if "nowhere" in drawn(app) and not app.query_one("OptionList").disabled:
                        break
                    await pilot.pause(0.02)
        path = await ends(pilot)
    with engram.open(str(path), session="t") as store:
        assert [one.lore.title for one in store.list().lore] == ["Known to all."]


@pytest.mark.slow
async def test_the_demonstration_is_a_store_that_is_deleted_afterwards(folder: Path) -> None:
    app = FirstRun(str(folder))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j", "j", "enter")
        path = str(await ends(pilot))
    with engram.open(path, session="t") as store:
        assert store.list().total >= 1
    app.clean()
    assert not Path(path).exists()  # noqa: ASYNC240


def test_nothing_is_asked_if_a_store_exists_or_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engram.cli.commands.interfaces import tui

    call = SimpleNamespace(arguments=SimpleNamespace(store=None), scope="")
    assert not tui._is_chosen(call)  # type: ignore[arg-type]
    monkeypatch.setenv("ENGRAM_STORE", "x")
    assert tui._is_chosen(call)  # type: ignore[arg-type]
    engram.open(folder / "a").close()
    assert is_first_run(str(folder))
    assert not is_first_run(str(folder / "a" / "lore"))
