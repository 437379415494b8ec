"""The graph screen, driven by keys: the drawing, moving from entity to entity and back, reading, finding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from effort import sampled
from graph_kit import entity, fill
from storekit import SteadyClock
from tui_kit import NARROW, WIDE, User, run_app
from tui_snapshots import at_rest, is_as_kept, text_of
from tui_tour import Tour

import engram
from engram_tui.graph.screen import GraphScreen

NOON = 1_772_625_600_000_000_000  # 4 March 2026


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("graph") / "store")


@pytest.fixture
def store(root: Path) -> Iterator[engram.Engram]:
    with engram.open(root, session="t", clock=SteadyClock(NOON)) as opened:
        yield opened


async def opened(user: User) -> GraphScreen:
    await user.press("7")
    await user.sees_text("most important first")
    screen = user.app.current
    assert isinstance(screen, GraphScreen)
    return screen


async def goes_to(user: User, name: str, letters: str) -> None:
    user.types(f"/{letters}\n")
    await user.sees_text(f"{name} · ")


@sampled(("size", "name"), [(NARROW, "80x24"), (WIDE, "120x40")], ids=["80x24", "120x40"])
async def test_walking_from_entity_to_entity_reading_and_going_back(
    store: engram.Engram, size: tuple[int, int], name: str
) -> None:
    async with run_app(store, size) as user:
        screen, tour = await opened(user), Tour(user, store)
        await tour.does("graph_find", lambda: "Which entity" in user.screen())
        await user.press(*"bill", "enter")
        await user.sees_text("Billing · 2 entities within 1 step")
        await tour.does("graph_deeper", lambda: "4 entities within 2 steps" in user.screen())
        await user.sees_text("├─ uses → The Queue", "│  └─ with Redis", "since 2023-05-01")
        if size == WIDE:
            await user.sees_text("What is said of it.")
        await at_rest(user)
        is_as_kept(f"graph-{name}.txt", text_of(user))
        await tour.does("graph_into", screen.is_reading)
        await tour.does("back", lambda: not screen.is_reading())
        await user.press("j")
        await tour.does("read", lambda: "The Queue · " in user.screen())
        await user.press("G", "enter")
        await user.sees(lambda: screen.is_reading() and screen.preview.shown_id)
        user.types("\x1b\x1b")
        await user.sees_text("Billing · ")
        assert screen.line_list.line is not None
        assert screen.line_list.line.id == "entity:queue"
        await tour.does("graph_whole", lambda: "most important first" in user.screen())
        assert not screen.has_start()
        assert tour.left_out("graph") == set()


async def test_a_store_without_entities_says_how_to_begin(tmp_path: Path) -> None:
    with engram.open(tmp_path / "s", session="t") as store:
        async with run_app(store, NARROW) as user:
            await user.press("7")
            await user.sees_text("No entry here names an entity yet.")
            assert not user.app.current.can_read()


async def test_without_its_entity_the_graph_shows_all_entities(tmp_path: Path) -> None:
    root = fill(tmp_path / "store")
    with engram.open(root, session="t") as store:
        async with run_app(store, NARROW) as user:
            screen = await opened(user)
            await goes_to(user, "Older Queue", "older")
            (root / "lore/entities/queue-3.md").unlink()
            entity(root, "queue-4", 'name: "\\e[2JOldest [@click=app.quit]"\ntype: tool')
            screen.poll()
            await user.sees_text("most important first", "Oldest [@click=app.quit]")
            assert "\x1b" not in user.screen()
