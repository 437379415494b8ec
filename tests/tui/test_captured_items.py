"""A captured entry in the review screen: shown whole, accepted into the store, or rejected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from review_store import make
from tui_kit import WIDE, User, run_app

from engram.usecases.recording.record import Draft, prepare
from engram.usecases.store import captured
from engram_tui.inbox.screen import InboxScreen

if TYPE_CHECKING:
    import engram

TEXT = "The upload failed because MinIO before 2025 does not accept CRC32 checksums."


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("template"))


@pytest.fixture
def store(store: engram.Engram) -> engram.Engram:
    captured.keep(store.store, prepare(store.store, Draft(TEXT, agent="codex"))[0])
    return store


async def at_it(user: User) -> InboxScreen:
    await user.press("2")
    await user.sees(lambda: isinstance(user.app.screen, InboxScreen) and not user.app.screen._unread_kinds)
    found = user.app.screen
    assert isinstance(found, InboxScreen)
    found.item_list.cursor = next(n for n, item in enumerate(found.item_list.rows) if item.title == TEXT)
    await user.sees_text("MinIO before", "private to this")
    return found


def texts(store: engram.Engram) -> list[str]:
    return [one.lore.content for one in store.list(limit=None, status="active").lore]


async def test_an_accepted_captured_text_becomes_an_entry(store: engram.Engram) -> None:
    async with run_app(store, WIDE) as user:
        await at_it(user)
        await user.press("e")  # there is no file to edit yet
        await user.press("i")
        await user.sees(lambda: TEXT in texts(store))
        assert captured.list_captured(store.store) == []


async def test_a_rejected_captured_text_leaves_the_queue_and_undo_brings_it_back(
    store: engram.Engram,
) -> None:
    async with run_app(store, WIDE) as user:
        found = await at_it(user)
        await user.press("D")
        await user.sees(lambda: TEXT not in [item.title for item in found.item_list.rows])
        await user.press("u")
        await user.sees(lambda: TEXT in [item.title for item in found.item_list.rows])
        assert TEXT not in texts(store)
