"""Failures around the open app: it reports them and goes on, and nothing is lost."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from storekit import disk_full_after
from tui_kit import QUEUE, lore, run_app

import engram

if TYPE_CHECKING:
    import pytest


async def test_a_full_disk_is_reported_and_the_same_key_works_once_there_is_room(
    store: engram.Engram,
) -> None:
    async with run_app(store) as user:
        with disk_full_after():
            await user.press("h")
            await user.sees(lambda: user.text("error") or user.toasts())
            said = user.text("error")
            await user.press("j", "k")
            assert user.titles()[0] == QUEUE
        assert said
        assert "Traceback" not in said
        assert "defect" not in said
        assert lore(store, QUEUE).validation_count == 0
        await user.press("h")
        await user.told("helpful")
        assert lore(store, QUEUE).validation_count == 1


async def test_judging_works_while_another_git_holds_the_lock_and_the_commit_follows(
    store: engram.Engram,
) -> None:
    lock = os.path.join(store.path, ".git", "index.lock")
    async with run_app(store) as user:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        await user.press("h")
        await user.told("helpful")
        assert lore(store, QUEUE).validation_count == 1
        await user.searches("money cents")
        os.unlink(lock)  # it was there until now
    store.close()
    with engram.open(store.path, session="t") as again:
        assert "feedback" in again.log()[0].subject


async def test_slow_links_delay_neither_reading_nor_judging(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    monkeypatch.setattr("engram_tui.entry.queries.links", lambda _id, _store: over.wait(30) and ())
    async with run_app(store) as user:
        try:
            await user.press("enter")
            await user.sees_text("redelivers")
            await user.press("h")
            await user.told("helpful")
            await user.press("J")
            await user.sees_text("full jitter; equal waits")
            assert not over.is_set()
        finally:
            over.set()
    assert lore(store, QUEUE).validation_count == 1
