"""The shell around every screen: keys from one table, palette, filters, themes, memory, bursts of keys, trouble."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tui_kit import MONEY, NARROW, QUEUE, RETRY, run_app

from engram_tui.app import TABS
from engram_tui.shell import actions
from engram_tui.shell.action import Action, key_label
from engram_tui.shell.frame import choose_fitting, heading_line
from engram_tui.shell.store_watch import Heading, abbreviate_home
from engram_tui.shell.undo import Step

if TYPE_CHECKING:
    import engram


def test_every_action_has_a_name_of_its_own_and_something_to_run() -> None:
    for tab in TABS:
        found = [*tab.actions(), *actions.ACTIONS, *actions.MOVES]
        names = [action.name for action in found]
        assert len(names) == len(set(names))
        taken: dict[str, Action] = {}
        for action in found:
            for key in action.keys.split(","):
                other = taken.setdefault(key, action)
                assert other is action or other.when or action.when, (key, other.name, action.name)


async def test_every_action_runs_a_method(store: engram.Engram) -> None:
    async with run_app(store) as user:
        for action in user.browse.actions():
            where = user.browse.query_one(action.target) if action.target else user.browse
            assert hasattr(where, f"action_{action.call.partition('(')[0]}"), action.name
            assert action.title
            assert action.help


async def test_a_truncated_choice_is_shown_in_full_below_the_list(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await user.press("question_mark")
        user.types("archived one")
        await user.sees_text("│ a archive exclude it from recall", "│ stays in the store")


async def test_a_list_of_choices_is_as_wide_as_its_lines_where_there_is_room(store: engram.Engram) -> None:
    long = "A title that is long enough to be cut where nobody looks, in the middle of nowhere"
    async with run_app(store, (200, 40)) as user:
        user.app.undo_stack.add(Step(f"Tags: “{long}” has tags +{'queue ' * 8}−demo", "", {}, {}))
        await user.press("U")
        await user.sees_text("Undo which", "queue −demo")


def footer(table: str, room: int, *, disabled: str = "") -> list[str]:
    """The titles that the footer shows for a table of actions in `room` cells."""
    own = [one for one in import_module(f"engram_tui.{table}.actions").ACTIONS if one.name != disabled]
    shown = choose_fitting(
        [(action, action.keys) for action in (*own, *actions.ACTIONS) if action.footer], room
    )
    assert sum(len(f"{key_label(keys)} {action.title}  ") for action, keys in shown) <= room + 2
    return [action.name for action, _ in shown]


def test_without_room_the_footer_keeps_help_then_the_first_actions_then_quit() -> None:
    for table in ("browse", "inbox", "consolidate", "sync", "insight", "live", "graph", "entry", "proposal"):
        assert footer(table, 8) == ["show_keys"]
        assert len({*footer(table, 38)} - {"leave"}) >= 3
        assert footer(table, 300)[-2:] == ["show_keys", "leave"]
    names = footer("proposal", 38, disabled="bring_in")
    assert names == ["back", "accept_entry", "reject_entry", "show_keys"]


def test_keys_are_written_as_people_write_them() -> None:
    assert [key_label(keys) for keys in ("question_mark", "ctrl+d,pagedown", "asterisk")] == [
        "?",
        "ctrl+d",
        "*",
    ]


async def test_each_key_of_a_burst_goes_where_the_user_means_it(store: engram.Engram) -> None:
    async with run_app(store) as user:
        user.types("/merge")
        await user.sees(lambda: user.browse.search_line.value == "merge")
        assert user.app.screen is user.browse
        user.types("\x1b/jxqd\ns")
        await user.sees(lambda: user.browse.search_line.value == "jxqd")
        user.types("\x1b:mark all\n/x")
        await user.sees(lambda: user.browse.search_line.value == "x")
        user.types("\x1bjjj/jjj")
        await user.sees(lambda: user.browse.search_line.value == "jjj")
        await user.pilot.pause(0.2)
        assert user.app.undo_stack.done == []
        assert {shown.lore.confidence for shown in store.list().lore} == {0.7}


@pytest.mark.slow
async def test_filters_narrow_the_list_and_searches_and_are_kept(store: engram.Engram) -> None:
    store.record(
        "Pinned note of another kind.", category="FACT", tags=["queue"], confidence=0.2, agent="codex"
    )
    async with run_app(store) as user:
        user.types("fcategory\n")
        await user.sees_text("Filter by category", "FACT")
        user.types("FACT\n")
        await user.sees(lambda: user.titles() == ["Pinned note of another kind."])
        assert user.text("counts") == "1 of 5 entries"
        assert user.text("facets").startswith("category FACT")
        await user.searches("queue")
        assert user.titles() == ["Pinned note of another kind."]
        await user.press("escape", "q")
    async with run_app(store) as user:
        await user.sees(lambda: user.titles() == ["Pinned note of another kind."])
        await user.press("escape")
        await user.sees(lambda: len(user.titles()) == 5)
        for facet, value in [
            ("confidence", "cold"),
            ("agent", "codex"),
            ("tag", "queue"),
            ("age", "today"),
            ("scope", "project"),
        ]:
            user.types(f"f{facet}\n")
            await user.sees_text(f"Filter by {facet}", value)
            user.types(f"{value}\n")
            await user.sees(
                lambda facet=facet: (
                    f"{facet} " in user.text("facets") if user.app.screen is user.browse else False
                )
            )
        await user.sees(lambda: user.titles() == ["Pinned note of another kind."])
        await user.press("F")
        await user.sees(lambda: len(user.titles()) == 5)


async def test_the_sort_and_the_theme_are_kept(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.press("s", "T")
        await user.told("Theme", "light")
        await user.press("q")
    async with run_app(store) as user:
        assert user.app.theme == "light"
        assert user.browse.order == "updated"


async def test_configured_keys_replace_the_default_keys(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engram.domain.settings import Settings

    monkeypatch.setattr(
        store.store, "settings", Settings({"app.keys": {"pin": "P"}, "app.theme": "high-contrast"})
    )
    async with run_app(store) as user:
        assert user.app.theme == "high-contrast"
        await user.press("p")
        await user.press("P")
        await user.told("Pin", "is pinned")
        assert len(user.app.undo_stack.done) == 1
        await user.press("question_mark")
        await user.sees_text("P       pin")


async def test_a_defect_is_reported_in_one_line_and_the_app_goes_on(store: engram.Engram) -> None:
    async with run_app(store) as user:
        user.browse.ask("defect", lambda _store: {}["missing"], lambda _found: None)
        await user.sees_text("A defect in Engram: KeyError: 'missing'. Please report it.")
        user.browse.ask("defect", lambda _store: Path("/nowhere/at/all").read_bytes(), lambda _found: None)
        await user.sees_text("No such file or directory: /nowhere/at/all")
        await user.searches("money cents")
        assert user.titles()[0] == MONEY


async def test_a_vanished_store_is_reported_and_may_come_back(store: engram.Engram) -> None:
    moved = f"{store.path}-gone"
    async with run_app(store) as user:
        os.rename(store.path, moved)
        await user.press("h", "r")
        await user.sees_text("no longer exists")
        assert len(user.titles()) == 4
        os.rename(moved, store.path)
        await user.press("r")
        await user.sees(lambda: RETRY in user.titles() and QUEUE in user.titles())


async def test_values_that_no_entry_has_yet_are_listed_too(store: engram.Engram) -> None:
    async with run_app(store) as user:
        user.types("fstatus\n")
        await user.sees_text("Filter by status", "active", "pending", "superseded")
        user.types("pending\n")
        await user.sees_text("No entry matches: status pending.")


@pytest.mark.parametrize("cells", [60, 80, 140])
def test_the_heading_keeps_its_numbers_whatever_the_path(cells: int) -> None:
    heading = Heading("", "main", 2, 0, 10_412, "hybrid", 3)
    line = heading_line("~/" + "deep/" * 60, heading, cells)
    assert line.endswith("/ · main ↑2 ↓0 · 10,412 entries · hybrid · 3 wait") or cells == 60
    assert len(line) <= max(cells, 80)


def test_in_few_cells_the_first_line_says_how_much_waits() -> None:
    heading = Heading("", "main", 2, 0, 10_412, "hybrid", 27)
    assert "10,412 entries · hybrid · 27 wait" in heading_line("~/lore", heading, 78)
    assert heading_line("~/code/shop/lore", heading, 38) == "engram  ~/code/shop/lore · 27 wait"


def test_home_is_written_as_a_tilde(home: object) -> None:
    assert abbreviate_home(f"{home}/notes") == "~/notes"
    assert abbreviate_home(f"{home}less/notes") == f"{home}less/notes"
