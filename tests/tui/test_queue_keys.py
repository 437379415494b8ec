"""Every key of the screens for decisions, at both sizes: the Inbox, consolidation, sync, settings, a new entry."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
import review_store
import tidy_store
from apart_clones import copy
from apikit import git
from review_store import CACHE, HOURS, MINUTES, OLD
from sync_kit import bare
from textual.widgets import Input, TextArea
from tui_kit import NARROW, SIZES, User, lore, make_template, open_without_editor, run_app, titled, with_store
from tui_tour import Tour

import engram_tui
from engram_tui.consolidate.screen import ConsolidateScreen
from engram_tui.inbox.merge_editor import MergeEditor
from engram_tui.inbox.screen import InboxScreen
from engram_tui.new_entry.form import NewEntryForm
from engram_tui.settings.screen import SettingsScreen
from engram_tui.shell.prompts import Confirm
from engram_tui.shell.text_screen import DifferenceScreen
from engram_tui.sync.screen import SyncScreen

if TYPE_CHECKING:
    from sync_kit import Clones

    import engram

TOURED = {
    "browse",
    "entry",
    "live",
    "insight",
    "inbox",
    "consolidate",
    "sync",
    "settings",
    "new_entry",
    "proposal",  # in test_proposal.py, which has the two clones that it needs
    "graph",
}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {"review": review_store.make, "tidy": tidy_store.make, "four": make_template}
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in made.items()}


@pytest.fixture
def store(
    request: pytest.FixtureRequest,
    templates: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[engram.Engram]:
    """A store of the kind that the test is marked with, where no editor is set."""
    with open_without_editor(templates[request.param], tmp_path, monkeypatch) as opened:
        yield opened


@pytest.fixture
def clones(tmp_path: Path) -> Iterator[Clones]:
    found = copy(tmp_path / "c")
    yield found
    found.leave()


def test_every_table_of_actions_has_a_tour() -> None:
    packages = [one.name for one in pkgutil.iter_modules(engram_tui.__path__) if one.ispkg]
    tables = {name for name in packages if find_spec(f"engram_tui.{name}.actions") is not None}
    assert tables - {"shell", "entry_actions"} == TOURED


@pytest.mark.slow
@SIZES
@with_store("review")
async def test_inbox(store: engram.Engram, size: tuple[int, int]) -> None:
    async with run_app(store, size) as user:
        tour = Tour(user, store)
        await user.press("2")
        await user.sees(lambda: isinstance(user.app.screen, InboxScreen))
        inbox = cast("InboxScreen", user.app.screen)
        await user.sees(lambda: not inbox._unread_kinds)
        queue, rows = inbox.queue, inbox.item_list
        found = lambda kind: [n for n, item in enumerate(rows.rows) if item.kind == kind]  # type: ignore[attr-defined]  # noqa: E731

        async def at(kind: str) -> str:
            def is_there() -> bool:
                """Whether all is read, and the cursor is on one: reading moves it to the item of an undone decision."""
                if inbox._unread_kinds or not found(kind):
                    return False
                rows.cursor = found(kind)[0]
                return inbox.item is not None and inbox.item.kind == kind

            await user.sees(is_there)
            return inbox.item.title if inbox.item else ""

        async def back(title: str) -> None:
            await user.sees(lambda: inbox.item and inbox.item.title == title)

        await tour.does("next_item", lambda: rows.cursor == 1)
        await tour.does("previous_item", lambda: rows.cursor == 0)
        await tour.does("filter", lambda: len(rows.rows) == 1, types="nightly\n")
        await tour.does("no_facets", lambda: len(rows.rows) == 9)
        await tour.does("kind", lambda: len(rows.rows) == 3, types="pending\n")
        await tour.does("clear", lambda: len(rows.rows) == 9)
        await tour.does("sort", lambda: queue.order == "newest first")
        await tour.does("mark_all", lambda: len(rows.marked) == 9)
        await tour.does("mark_all", lambda: not rows.marked)
        await tour.does("mark", lambda: len(rows.marked) == 1)
        await user.press("escape", "s", "s", "s")
        title = await at("pending")
        await tour.does("open", inbox.is_reading)
        await tour.does("scroll_texts", lambda: True)
        await tour.does("scroll_texts_back", lambda: True)
        await tour.does("back", lambda: rows.has_focus)
        await tour.does("read", inbox.is_reading)
        await tour.changes("accept", lambda: lore(store, title).status == "active", told="it becomes active")
        await back(title)
        await tour.changes("propose", lambda: lore(store, title).status == "active", told="it becomes active")
        await back(title)
        await tour.changes("put_away", lambda: lore(store, title).status == "archived", told="Archive")
        await back(title)
        here = lambda: {one.lore.title for one in store.list(limit=None).lore}  # noqa: E731
        await tour.changes("reject", lambda: title not in here(), told="forgotten")
        await tour.changes(
            "decide_all",
            lambda: not store.review(kinds="pending").total,
            types="accept all\n",
            told="3 pending",
        )
        await at("pending")
        title = inbox.item.title if inbox.item else ""
        await tour.does("edit_first", lambda: user.app.screen.query(TextArea))
        area = user.app.screen.query_one(TextArea)
        area.text = area.text.replace(title, "A better sentence.")
        await user.press("ctrl+s")
        await user.told("Accept edited", "it becomes active")
        assert lore(store, "A better sentence.").status == "active"
        await at("contradiction")
        await tour.changes("take", lambda: lore(store, HOURS).status == "superseded", told="Supersede")
        assert lore(store, MINUTES).status == "active"
        settled = lambda: not titled(store, CACHE).conflicts  # noqa: E731
        await at("conflict")
        await tour.changes("both", lambda: settled() and "90" in titled(store, CACHE).content)
        await at("conflict")
        await tour.does("difference", lambda: isinstance(user.app.screen, DifferenceScreen))
        await user.press("escape")
        await tour.does("merge", lambda: isinstance(user.app.screen, MergeEditor))
        await user.press("2", "ctrl+s")
        await user.told("Accept", "with your text")
        assert settled()
        assert await at("stale") == OLD
        await tour.changes("snooze", lambda: not store.review(kinds="stale").total, told="7 days")
        tour.tried.add("next_of_group")  # test_a_group_is_compared_one_by_one has it
        assert tour.left_out("inbox") == set()


@pytest.mark.slow
@SIZES
@with_store("tidy")
async def test_consolidate(store: engram.Engram, size: tuple[int, int]) -> None:
    async with run_app(store, size) as user:
        tour = Tour(user, store)
        await user.press("3")
        await user.sees(lambda: isinstance(user.app.screen, ConsolidateScreen))
        found = cast("ConsolidateScreen", user.app.screen)
        tree, choices = found.tree_list, found.choices
        still = lambda: choices.plan and not found.doing and choices.is_rehearsed  # noqa: E731
        await user.sees(still)
        await tour.does("fold_kind", lambda: not choices.is_open("merge"))
        await tour.does("open_kind", lambda: choices.is_open("merge"))
        await user.press("j")
        await tour.does("open_result", found.is_reading)
        await user.sees_text("The entry that 3 become")
        await tour.does("close_result", lambda: tree.has_focus)
        await tour.does("toggle_step", lambda: len(choices.selected) == 4)
        await tour.does("take_all", lambda: len(choices.selected) == 5)
        await tour.does("rehearsal", lambda: isinstance(user.app.screen, DifferenceScreen))
        await user.press("escape", "k")
        await tour.does("merge_step", lambda: isinstance(user.app.screen, MergeEditor))
        await user.press("escape")
        await user.sees(lambda: user.app.screen is found and still())
        await tour.changes(
            "apply_plan",
            lambda: {one.lore.status for one in store.list(limit=None).lore} > {"archived", "superseded"},
            told="merge 1, supersede 1, archive 3",
        )
        await user.sees(lambda: still() and len(choices.steps) == 5)
        before = choices.plan
        await tour.does("plan_again", lambda: still() and choices.plan is not before)
        assert tour.left_out("consolidate") == set()


@pytest.mark.slow
@SIZES
async def test_sync(clones: Clones, tmp_path: Path, size: tuple[int, int]) -> None:
    store, hub = clones["a"], clones.hub
    async with run_app(store, size) as user:
        tour = Tour(user, store)
        await user.press("4")
        await user.sees(lambda: isinstance(user.app.screen, SyncScreen) and user.app.screen.view)
        screen = cast("SyncScreen", user.app.screen)
        before, head = git(hub, "rev-parse", "main"), lambda: git(Path(store.path), "rev-parse", "HEAD")
        await tour.does("sync_look", lambda: "↓5" in user.screen(), told="pull 5")
        assert git(hub, "rev-parse", "main") == before
        await tour.does("sync_pull", lambda: screen.result is not None, told="5 pulled")
        assert git(hub, "rev-parse", "main") == before != head()
        await tour.does("sync_push", lambda: git(hub, "rev-parse", "main") == head(), told="pushed")
        store.record("One more that is to go out.", category="FACT")
        await tour.does(
            "sync", lambda: "One more" in git(hub, "grep", "-h", "One more", "main"), told="1 pushed"
        )
        await user.press("g")
        await tour.does("read", screen.is_reading)
        await tour.does("back", lambda: screen.line_list.has_focus)
        names = lambda: [one.name for one in store.remotes()]  # noqa: E731
        address = f"second {bare(tmp_path / 'second.git')}\n"
        await tour.changes("add_remote", lambda: names() == ["origin", "second"], types=address, stays=True)
        await user.sees(lambda: screen.view and len(screen.view.remotes) == 2)
        await tour.changes("remove_remote", lambda: names() == ["origin"], types="second\n", told="removed")
        assert tour.left_out("sync") == {"cancel_sync"}  # needs a server that is silent: test_sync


@pytest.mark.slow
@SIZES
@with_store("four")
async def test_settings(store: engram.Engram, tmp_path: Path, size: tuple[int, int]) -> None:
    own = tmp_path / "config" / "engram" / "config.toml"
    async with run_app(store, size) as user:
        tour = Tour(user, store)
        await user.press("comma")
        await user.sees(lambda: isinstance(user.app.screen, SettingsScreen) and user.app.screen.settings)
        screen = cast("SettingsScreen", user.app.screen)
        names = [one.key.name for one in screen.settings]
        await user.press("g", *["j"] * names.index("recall.limit"))
        await tour.does("change", lambda: user.app.screen.query(Input))
        user.app.screen.query_one(Input).value = "8"
        await user.press("enter")
        await user.told("recall.limit is set in your own file: 8")
        limit = lambda: store.store.settings.get("recall.limit")  # noqa: E731
        assert limit() == 8
        await tour.does("undo", lambda: limit() == 5, told="Undone")
        await tour.does("redo", lambda: limit() == 8, told="Redone")
        await user.sees(screen.is_own)
        await tour.changes("unset", lambda: limit() == 5, told="no longer set")
        assert "limit = 8" in own.read_text("utf-8")
        await tour.does("copy_file", lambda: user.app.clipboard == str(own))
        await tour.does("leave_settings", lambda: user.app.screen is user.browse)
        assert tour.left_out("settings") == set()


@SIZES
@with_store("four")
async def test_a_new_entry(store: engram.Engram, size: tuple[int, int]) -> None:
    async def written(user: User) -> None:
        await user.press("N")
        await user.sees(lambda: isinstance(user.app.screen, NewEntryForm))

    async with run_app(store, size) as user:
        await written(user)
        user.types("Nagle and delayed acks add 40 ms.")
        await user.press("escape")
        await user.sees(lambda: user.app.screen is user.browse)
        assert len(store.list(limit=None).lore) == 4
        await written(user)
        await user.press("ctrl+s")
        await user.told("Record", "is recorded", "u undoes it")
        assert lore(store, "Nagle and delayed acks add 40 ms.").status == "active"
        await user.press("u")
        await user.told("Undone")
        assert len(store.list(limit=None).lore) == 4


@pytest.mark.slow
@SIZES
@with_store("review")
async def test_the_merge_editor(store: engram.Engram, size: tuple[int, int]) -> None:
    async with run_app(store, size) as user:
        await user.press("2")
        await user.sees(
            lambda: isinstance(user.app.screen, InboxScreen) and not user.app.screen._unread_kinds
        )
        review = cast("InboxScreen", user.app.screen)
        review.item_list.cursor = next(
            at
            for at, item in enumerate(review.item_list.rows)
            if item.kind == "conflict"  # type: ignore[attr-defined]
        )
        await user.press("m")
        await user.sees(lambda: isinstance(user.app.screen, MergeEditor))
        editor = cast("MergeEditor", user.app.screen)
        first = size == NARROW
        for keys, ends in (
            (("2", "right"), "90 seconds."),
            (("1", "left"), "40 seconds."),
            (("b", "b"), "90 seconds."),
        ):
            await user.press(keys[not first])
            await user.sees(lambda ends=ends: editor.area.text.endswith(ends))  # type: ignore[misc]
        await user.press("j" if first else "down")
        assert editor.at == 1
        await user.press("k" if first else "up")
        assert editor.at == 0
        await user.press("tab" if first else "e")
        await user.sees(lambda: editor.focused is editor.area)
        await user.press("escape")
        await user.sees(lambda: editor.focused is None)
        await user.press("escape")
        await user.sees(lambda: user.app.screen is review or isinstance(user.app.screen, Confirm))
        assert titled(store, CACHE).conflicts
