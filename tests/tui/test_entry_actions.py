"""Changes of entries in the app are written to the store, reported, undone, redone and repeated."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widgets import TextArea
from tui_kit import MONEY, NARROW, QUEUE, SESSIONS, User, lore, run_app

import engram
from engram_tui.shell.prompts import Confirm

if TYPE_CHECKING:
    import pytest


def statuses(store: engram.Engram) -> dict[str, str]:
    return {shown.lore.title: shown.lore.status for shown in store.list(limit=None).lore}


async def undone_and_redone(user: User, what: str) -> None:
    await user.press("u")
    await user.told("Undone", what, "U redoes it")
    await user.press("ctrl+r")
    await user.told("Redone", what)


async def test_marked_entries_are_archived_at_once_undone_at_once_and_repeated(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.press("space", "j", "space")
        assert user.text("counts") == "2 marked · 4 entries"
        await user.press("a")
        await user.told("Archive", "2 entries are archived", "u undoes it")
        archived = {title for title, status in statuses(store).items() if status == "archived"}
        assert archived == {QUEUE, SESSIONS}
        await user.sees_text("(archived) Queue")
        await user.press("u")
        await user.told("Undone", "2 entries are archived")
        assert set(statuses(store).values()) == {"active"}
        await user.press("escape")
        await user.sees(lambda: not user.browse.entry_list.marked)
        await user.press("G", "full_stop")
        await user.told("Archive", MONEY[:30])
        assert statuses(store)[MONEY] == "archived"


async def test_undo_reverts_changes_of_the_app_and_not_later_ones_by_others(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.press("p")
        await user.told("Pin", "is pinned")
        with engram.open(store.path, session="another") as other:
            other.record("Outcome since.", category="FACT")
        await user.press("u")
        await user.told("Undone", "is pinned")
        assert not lore(store, QUEUE).pinned
        assert lore(store, "Outcome since.").category == "FACT"


async def test_judging_and_undoing_twice_leaves_nothing_and_a_redo_leaves_one_judgement(
    store: engram.Engram,
) -> None:
    async with run_app(store) as user:
        for key, left in (*[("h", (780, 1)), ("u", (700, 0))] * 2, ("ctrl+r", (780, 1))):
            await user.press(key)
            await user.sees(
                lambda left=left: (
                    (lore(store, QUEUE).thousandths, lore(store, QUEUE).validation_count) == left
                )
            )


async def test_forgetting_asks_first_if_it_cannot_be_undone(tmp_path: Path) -> None:
    with engram.open(tmp_path / "owned", session="t") as store:
        store.record("One.", category="FACT")
        async with run_app(store, NARROW) as user:
            user.app.can_undo = False
            await user.press("D")
            await user.sees(lambda: isinstance(user.app.screen, Confirm))
            await user.press("n")
            await user.sees(lambda: user.app.screen is user.browse)
            assert lore(store, "One.").title == "One."
            await user.press("D", "y")
            await user.told("Forget", "forgotten")


def only_text(folder: Path) -> tuple[str, str]:
    (path,) = folder.glob("engram-*.md")
    return path.name, path.read_text("utf-8")


async def test_a_text_that_is_no_entry_changes_nothing_and_is_kept(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with run_app(store) as user:
        await user.press("e")
        await user.sees(lambda: user.app.screen.query(TextArea))
        user.app.screen.query_one(TextArea).text = "---\nid: nonsense\n---\nx"
        await user.press("ctrl+s")
        await user.sees(lambda: "id" in user.text("error") if user.app.screen is user.browse else False)
        assert lore(store, QUEUE).title == QUEUE
        name, typed = only_text(tmp_path)
        assert typed == "---\nid: nonsense\n---\nx"
        assert name in user.text("error")


async def test_commands_that_ran_are_in_the_command_log(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.press("p")
        await user.told("Pin")
        await user.press("u")
        await user.told("Undone")
        await user.press("at")
        await user.sees_text("What was done", "Pin: ", "is pinned", "$ ", "engram undo 1", "Undone: ")
        if "git command" in user.app.command_log.text():  # folded away, until tab shows each
            await user.press("tab")
            await user.sees_text("git ")
        assert f"engram edit {lore(store, QUEUE).id} --pin" in user.app.command_log.text()
