"""The consolidate screen: selected steps are rehearsed, applied as one commit, and undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import record_apart
from tidy_store import FRIDAY, HOSTS, OTHERS, RETRY, make
from tui_kit import NARROW, SIZES, User, lore, run_app

import engram
from engram_tui.consolidate.screen import ConsolidateScreen
from engram_tui.inbox import pair_search
from engram_tui.inbox.merge_editor import MergeEditor
from engram_tui.shell.prompts import Confirm
from engram_tui.shell.text_screen import DifferenceScreen


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("template"))


async def planned(user: User) -> ConsolidateScreen:
    await user.press("3")
    await user.sees(lambda: isinstance(user.app.screen, ConsolidateScreen))
    found = user.app.screen
    assert isinstance(found, ConsolidateScreen)
    await user.sees(lambda: found.choices.plan and not found.doing)
    return found


def state(store: engram.Engram) -> dict[str, str]:
    return {one.lore.title: one.lore.status for one in store.list(limit=None).lore}


def commits(store: engram.Engram) -> int:
    return len(store.log(limit=1000))


@SIZES
async def test_a_plan_is_applied_as_one_commit_and_undone(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        found, before, number = await planned(user), state(store), commits(store)
        await user.sees_text(
            "5 of 5 steps", "rehearsed on 1 past query", "1 group, 3 → 1 entry", "archive   3"
        )
        user.app.can_undo = False
        await user.press("y")
        await user.sees(lambda: isinstance(user.app.screen, Confirm))
        await user.sees_text("3 entries become 1", "One commit here")
        await user.press("n")
        await user.sees(lambda: user.app.screen is found)
        assert state(store) == before
        user.app.can_undo = True
        await user.press("y")
        await user.told("Consolidate", "merge 1, supersede 1, archive 3", "u undoes it")
        assert commits(store) == number + 1
        after = state(store)
        assert after[FRIDAY] == "superseded"
        assert [after[f"Host {host} is down."] for host in HOSTS] == ["archived"] * 3
        assert not {*OTHERS} & {*after}
        await user.sees_text("Nothing to consolidate.")
        await user.press("u")
        await user.told("Undone")
        assert state(store) == before
        await user.sees(lambda: len(found.choices.steps) == 5)


async def test_deselected_steps_are_not_applied_and_the_rest_is_rehearsed(store: engram.Engram) -> None:
    async with run_app(store) as user:
        found, before = await planned(user), state(store)
        await user.press("space")  # on the kind: all of merge
        await user.press("j", "j", "j", "space")  # one supersede
        assert [step.kind for step in found.choices.selected] == ["archive"] * 3
        await user.press("y")
        await user.told("Apply", "still being rehearsed")
        await user.sees(lambda: found.choices.is_rehearsed and not found.doing)
        await user.sees_text("3 of 5 steps", "[ ] merge", "[x] archive")
        await user.press("G", "space")
        await user.sees(lambda: found.choices.is_rehearsed and not found.doing)
        await user.sees_text("[-] archive")
        chosen = {entry_id for step in found.choices.selected for entry_id in step.lore}
        await user.press("y")
        await user.told("Consolidate", "archive 2")
        archived = {
            one.lore.id: one.lore.title
            for one in store.list(limit=None).lore
            if one.lore.status == "archived"
        }
        assert {*archived} == chosen
        assert {*archived.values()} < {f"Host {host} is down." for host in HOSTS}
        assert {*OTHERS, RETRY} <= {*before} & {*state(store)}


@SIZES
async def test_both_titles_and_the_reason_are_shown_in_full(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    titles = [
        f"The gateway closes a connection to the ledger after {number} seconds."
        for number in ("20", "ninety")
    ]
    for title in titles:
        record_apart(store, title, "FACT")
    async with run_app(store, size) as user:
        found = await planned(user)
        await user.press("G")
        await user.sees_text("⇄ … ninety seconds")
        left = found.tree_list.rows[-1].left
        assert left is not None

        def words() -> str:
            return " ".join(" ".join(line.split("│")[-1] for line in user.screen().splitlines()).split())

        await user.sees(lambda: all(text in words() for text in (*titles, left.why)))


@SIZES
async def test_the_result_of_a_step_is_shown_before_it_is_applied(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        found = await planned(user)
        await user.press("j", "enter")
        await user.sees_text("The entry that 3 become", "tags retry, queue, jitter", "merged in")
        await user.press("escape", "g", "enter")
        await user.sees(lambda: len(found.tree_list.rows) == 7)
        await user.press("right", "j", "left")
        await user.sees(lambda: len(found.tree_list.rows) == 7 and found.tree_list.cursor == 0)
        await user.press("asterisk")
        assert found.choices.selected == []
        await user.press("asterisk", "d")
        await user.sees(lambda: isinstance(user.app.screen, DifferenceScreen))
        await user.sees_text("how should clients of the queue retry", "3 → 1 entry", "merged into another")
        await user.press("escape", "r")
        await user.sees(lambda: not found.doing and found.choices.is_rehearsed)
        assert len(store.list(limit=None).lore) == 8


@pytest.mark.slow
async def test_a_large_store_is_planned_in_the_background_and_a_group_is_merged_by_hand(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_search, "LARGE", 1)
    monkeypatch.setattr(pair_search, "_start_process", lambda _path: None)
    async with run_app(store, NARROW) as user:
        found, number = await planned(user), commits(store)
        await user.press("j", "m")
        await user.sees(lambda: isinstance(user.app.screen, MergeEditor))
        await user.press("2", "ctrl+s")
        await user.told("Merge", "with your text", "u undoes it")
        assert commits(store) == number + 1
        assert len(lore(store, OTHERS[0]).merged_from) == 2
        await user.sees(lambda: len(found.choices.steps) == 4)
        await user.press("u")
        await user.sees(lambda: len(found.choices.steps) == 5)


async def test_changes_by_others_lead_to_a_new_plan(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        found = await planned(user)
        await user.press("space")
        with engram.open(store.path, session="other") as other:
            other.forget(lore(store, "Host alpha is down.").id)
        await user.sees(lambda: len(found.choices.steps) == 4 and not found.doing)
        assert [step.kind for step in found.choices.selected] == ["supersede", "archive", "archive"]
