"""Undo works for everything that the app writes: every writing action of the tables of keys is done and undone."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from review_store import make
from textual.widgets import TextArea
from tui_kit import NARROW, User, open_copy, run_app

from engram_tui.app import TABS
from engram_tui.consolidate.screen import ConsolidateScreen
from engram_tui.inbox.merge_editor import MergeEditor
from engram_tui.inbox.screen import InboxScreen
from engram_tui.shell.actions import ACTIONS

if TYPE_CHECKING:
    import engram

OVERLAYS = ("entry", "settings", "new_entry", "proposal")
# They have a command and do not write lore: they look, talk to a remote, or are about undo itself.
WRITE_NOTHING = {
    "graph_find", "graph_deeper", "graph_whole", "refresh", "settings", "undo", "redo", "undo_list",
    "sync", "sync_look", "sync_pull", "sync_push", "plan_again", "toggle_step",
}  # fmt: skip
ELSEWHERE = {
    "test_proposal.py": {"accept_entry", "reject_entry", "accept_rest", "bring_in"},
    "test_queue_keys.py": {"change", "unset", "add_remote", "remove_remote", "merge_step"},
}

TYPE = "add to the text"


class Deed(NamedTuple):
    """A writing action: its keys, the text to type then, its screen, and the kind of item that it needs."""

    action: str
    keys: tuple[str, ...]
    types: str = ""
    screen: str = "1"
    kind: str = ""


DEEDS = (
    *(Deed(name, ("g", key)) for name, key in (("helpful", "h"), ("incorrect", "x"), ("not_relevant", "n"))),
    *(Deed(name, ("g", key)) for name, key in (("archive", "a"), ("pin", "p"), ("forget", "D"))),
    Deed("tags", ("g", "number_sign"), "queue\n"),
    Deed("category", ("g", "c"), "failure\n"),
    Deed("edit", ("g", "e", TYPE, "ctrl+s")),
    Deed("new_lore", ("N", *"Nagle delays acks", "ctrl+s")),
    Deed("archive", ("asterisk", "a")),
    Deed("helpful", ("asterisk", "h")),
    Deed("repeat", ("g", "full_stop")),
    *(
        Deed(name, (key,), screen="2", kind="pending")
        for name, key in (("accept", "i"), ("propose", "y"), ("put_away", "a"), ("reject", "D"), ("snooze", "z"))
    ),
    Deed("edit_first", ("e", TYPE, "ctrl+s"), screen="2", kind="pending"),
    Deed("decide_all", ("A",), "accept all\n", screen="2", kind="pending"),
    *(Deed(name, (key,), screen="2", kind="conflict") for name, key in (("take", "t"), ("both", "b"), ("accept", "i"))),
    Deed("merge", ("m", "2", "ctrl+s"), screen="2", kind="conflict"),
    *(Deed(name, (key,), screen="2", kind="contradiction") for name, key in (("take", "t"), ("both", "b"))),
    *(Deed(name, (key,), screen="2", kind="duplicate") for name, key in (("take", "t"), ("both", "b"), ("reject", "D"))),
    *(Deed(name, (key,), screen="2", kind="stale") for name, key in (("propose", "y"), ("accept", "i"), ("snooze", "z"))),
    Deed("snooze", ("z",), screen="2", kind="problem"),
    Deed("apply_plan", ("y",), screen="3"),
    # The last one: what a person parted again is no duplicate any more.
    Deed("merge", ("m", "ctrl+s"), screen="2", kind="duplicate"),
)  # fmt: skip


@pytest.fixture
def store(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[engram.Engram]:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    with open_copy(make(tmp_path_factory.mktemp("template")), tmp_path) as opened:
        yield opened


def writing() -> set[str]:
    tables = [tab.actions() for tab in TABS]
    tables += [import_module(f"engram_tui.{name}.actions").ACTIONS for name in OVERLAYS]
    return {action.name for table in (*tables, ACTIONS) for action in table if action.command}


def state(store: engram.Engram) -> tuple[object, ...]:
    """All entries, but for the time of change and the merged ids, which undo keeps; and the items that wait."""
    found = store.list(limit=None).lore
    entries = {
        one.lore.id: one.lore._replace(updated_at=one.lore.created_at, merged_from=()) for one in found
    }
    return entries, frozenset((item.id, item.kind) for item in store.review().items)


def test_the_undo_of_every_action_that_writes_is_tested() -> None:
    here = {deed.action for deed in DEEDS} | {"repeat"}
    assert writing() - WRITE_NOTHING <= here.union(*ELSEWHERE.values())
    for file, names in ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text("utf-8")
        keys = {
            "accept_entry": 'press("y")',
            "reject_entry": 'press("x")',
            "accept_rest": '"A"',
            "bring_in": '"i"',
        }
        assert all(keys.get(name, name) in text for name in names), file


async def ready(user: User, deed: Deed) -> None:
    """Go to the screen and the item of the action."""
    await user.press("escape", "escape", deed.screen)
    screen = user.app.screen
    if isinstance(screen, ConsolidateScreen):
        await user.sees(lambda: screen.choices.plan and not screen.doing and screen.choices.is_rehearsed)
    if isinstance(screen, InboxScreen):

        def is_there() -> bool:
            kinds = [item.kind for item in screen.item_list.rows]  # type: ignore[attr-defined]
            if screen._unread_kinds or deed.kind not in kinds:
                return False
            screen.item_list.cursor = kinds.index(deed.kind)
            return screen.item is not None and screen.item.kind == deed.kind

        await user.sees(is_there)


@pytest.mark.slow
async def test_undo_reverts_what_each_key_wrote(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await user.press("2", "1")
        before = state(store)
        for deed in DEEDS:
            await ready(user, deed)
            user.app.clear_notifications()
            for key in deed.keys:
                if key == TYPE:
                    user.app.screen.query_one(TextArea).text += "\nMore of it.\n"
                    continue
                await user.press(key)
                if key in ("e", "m"):
                    await user.sees(lambda: user.app.screen.query(TextArea))
                if key == "m":
                    await user.sees(lambda: isinstance(user.app.screen, MergeEditor))
            user.types(deed.types)
            await user.sees(lambda: len(user.app.undo_stack.done) == 1)
            if deed.action != "not_relevant":
                assert state(store) != before, deed
            await user.press("u")
            await user.told("Undone")
            now = state(store)
            assert now[0] == before[0], deed
            assert now[1] == before[1] or deed == DEEDS[-1], deed
            assert not user.app.undo_stack.done
