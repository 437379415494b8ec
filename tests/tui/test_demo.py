"""The demonstration: every kind of item that waits in a team's lore is settled with keys of the footer alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import prepared
import pytest
from apikit import git
from tui_kit import SIZES, WIDE, User, run_app

import engram
from engram_tui.first_run import make_demonstration
from engram_tui.inbox.screen import InboxScreen
from engram_tui.proposal.screen import ProposalScreen

WAITS = {"conflict": 1, "proposal": 1, "pending": 2, "contradiction": 1, "duplicate": 1, "stale": 1}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[engram.Engram]:
    root = prepared.copy("demonstration", tmp_path, _make)
    with engram.open(tmp_path / root, session="t") as opened:
        yield opened


def _make(folder: Path) -> Path:
    return Path(make_demonstration(str(folder))).relative_to(folder)


def footer(user: User) -> str:
    return user.screen().splitlines()[-1]


async def press(user: User, key: str, title: str) -> None:
    """Press a key that the last line has, with this title."""
    await user.sees(lambda: f"{key} {title}" in footer(user))
    await user.press(key)


async def first(user: User, kind: str) -> None:
    """Go to the first item of a kind, as somebody does who reads the list."""
    found = user.app.screen
    assert isinstance(found, InboxScreen)
    await user.sees(lambda: any(item.kind == kind for item in found.item_list.rows))  # type: ignore[attr-defined]
    kinds = [item.kind for item in found.item_list.rows]  # type: ignore[attr-defined]
    found.item_list.cursor = kinds.index(kind)
    await user.sees(lambda: found.item is not None and found.item.kind == kind)


async def test_the_footer_has_the_keys_that_work_and_a_dispute_has_both_names(
    store: engram.Engram,
) -> None:
    async with run_app(store, WIDE) as user:
        offers_proposal = lambda: "y as proposed" in footer(user)  # noqa: E731
        await user.sees(offers_proposal)
        assert "Ada ⇄ Bob" in user.screen()
        await user.press("at")
        await user.sees(lambda: not footer(user).strip())
        await user.press("escape")
        await user.sees(offers_proposal)
        await user.press("slash")
        await user.sees(lambda: "enter to the results" in footer(user))
        assert not offers_proposal()
        await user.press("escape")
        await user.sees(offers_proposal)


@SIZES
async def test_a_dispute_a_duplicate_and_a_proposal_are_settled_with_keys_of_the_footer(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    assert store.review().by_kind == WAITS
    assert store.list().total == 39
    assert git(Path(store.path), "ls-files", "*/entities/*.md").count(".md") == 4
    authors = set(git(Path(store.path), "log", "--format=%an <%ae>").splitlines()) - {
        "Engram <engram@localhost>"
    }
    assert authors == {
        "Ada Lovelace <ada@example.org>",
        "Bob Kahn <bob@example.org>",
        "Cleo Wade <cleo@example.org>",
    }
    async with run_app(store, size) as user:
        await user.sees(
            lambda: isinstance(user.app.screen, InboxScreen) and not user.app.screen._unread_kinds
        )
        await user.sees_text("7 wait", "1 of 7", "● dispute", "Ada Lovelace", "Bob Kahn")
        await first(user, "conflict")
        await press(user, "enter", "open")
        await user.sees_text("It takes 90 seconds", "It takes 15 seconds", "other version, by")
        await press(user, "y", "as proposed")
        await user.told("u undoes it")
        await user.sees(lambda: not any(item.kind == "conflict" for item in user.app.screen.item_list.rows))  # type: ignore[attr-defined]
        if "esc back" in footer(user):
            await user.press("escape")
        await first(user, "duplicate")
        await press(user, "t", "take newer")
        await user.told("supersedes")
        await first(user, "proposal")
        await press(user, "enter", "open")
        await user.sees(lambda: isinstance(user.app.screen, ProposalScreen) and user.app.screen.entry)
        await press(user, "y", "accept")
        await user.sees_text("2 of 3 undecided")
        await press(user, "y", "accept")
        await user.sees_text("1 of 3 undecided")
        await press(user, "x", "reject …")
        user.types("no\n")
        await press(user, "i", "bring them in")
        await user.sees_text("2 entries come into the lore")
        await user.press("y")
        await user.told("2 entries accepted, 1 rejected", "the remote has it")
        await user.sees_text("4 wait")
    assert store.review().by_kind == {"pending": 2, "contradiction": 1, "stale": 1}


async def test_a_sync_does_not_say_that_nothing_needs_anybody_while_items_wait(store: engram.Engram) -> None:
    async with run_app(store, WIDE) as user:
        await user.sees_text("7 wait")
        await user.press("4")
        await user.sees_text("Both sides are equal")
        await user.press("S")
        await user.told("Sync", "Nothing new needs you.")
