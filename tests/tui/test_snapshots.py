"""Snapshots of whole screens as text, and of one with its colours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import review_store
from storekit import SteadyClock
from tui_kit import NARROW, QUEUE, WIDE, make_template, run_app
from tui_snapshots import at_rest, is_as_kept, svg_of, text_of

import engram
from engram_tui.entry.screen import EntryScreen
from engram_tui.inbox.screen import InboxScreen
from engram_tui.shell.picker import Picker

if TYPE_CHECKING:
    from engram_tui.app import EngramApp

NOON = 1_772_625_600_000_000_000  # 4 March 2026
SIZES = pytest.mark.parametrize(
    ("size", "name"), [(NARROW, "80x24"), (WIDE, "120x40")], ids=["80x24", "120x40"]
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[engram.Engram]:
    """Four entries, recorded by a clock that stands still."""
    clock = SteadyClock(NOON)
    with engram.open(make_template(tmp_path, clock), session="t", clock=clock) as opened:
        yield opened


def inbox_of(app: EngramApp) -> InboxScreen | None:
    return app.screen if isinstance(app.screen, InboxScreen) else None


@SIZES
async def test_browse_and_its_keys(store: engram.Engram, size: tuple[int, int], name: str) -> None:
    async with run_app(store, size) as user:
        await user.sees_text("4 entries", "The broker redelivers" if size == WIDE else QUEUE)
        await at_rest(user)
        is_as_kept(f"browse-{name}.txt", text_of(user))
        await user.press("question_mark")
        await user.sees(lambda: isinstance(user.app.screen, Picker))
        await at_rest(user)
        box = user.app.screen.query_one(
            "Picker > Vertical"
        ).region  # what is behind it is dim, or not drawn yet
        lines = text_of(user).splitlines()[box.y : box.bottom]
        is_as_kept(f"keys-{name}.txt", "\n".join(line[box.x : box.right] for line in lines) + "\n")


@SIZES
async def test_an_entry(store: engram.Engram, size: tuple[int, int], name: str) -> None:
    async with run_app(store, size) as user:
        await user.press("enter")
        await user.sees(lambda: isinstance(user.app.screen, EntryScreen) and user.app.screen.versions)
        await user.sees_text("The broker redelivers", "Links" if size == NARROW else "no links to or from")
        await at_rest(user)
        is_as_kept(f"entry-{name}.txt", text_of(user))


@SIZES
async def test_inbox(tmp_path: Path, size: tuple[int, int], name: str) -> None:
    clock = SteadyClock(NOON)
    with engram.open(review_store.make(tmp_path, clock), session="t", clock=clock) as store:
        async with run_app(store, size) as user:
            await user.press("2")
            await user.sees(lambda: (found := inbox_of(user.app)) and not found._unread_kinds)
            found = inbox_of(user.app)
            assert found is not None
            kinds = [item.kind for item in found.item_list.rows]  # type: ignore[attr-defined]
            found.item_list.cursor = kinds.index("contradiction")
            if size == WIDE:
                await user.sees(lambda: found.details and found.details.item == found.item)
                await user.sees_text("costs about")
            await at_rest(user)
            is_as_kept(f"inbox-{name}.txt", text_of(user))


async def test_the_colours_of_browse(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await user.sees_text("4 entries", QUEUE)
        await at_rest(user)
        is_as_kept("browse.svg", svg_of(user))
