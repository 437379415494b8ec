"""Four agents on two clones of one store end in the same state, and so does the periodic work on both."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import prepared
import pytest
from apikit import SetClock, dedicated, git, lore_files, make_plain_store, ok, open_test_store
from effort import examples
from sync_kit import Clones
from team_kit import changed

from engram.domain.errors import StoreError
from engram.usecases.store import sync_state
from engram.usecases.upkeep import background, maintain

if TYPE_CHECKING:
    from engram.app import Engram

AGENTS = {"ada": "a", "bob": "a", "carl": "b", "dora": "b"}  # and the clone each works in
FACTS = (
    "Queue consumers must be idempotent, since brokers deliver twice.",
    "The palette of the settings page was chosen for contrast.",
    "Tide tables are printed in local time.",
    "Staging is reset on Mondays at six.",
)


def work(clones: Clones, chance: random.Random, known: list[str]) -> None:
    """Let an agent do one thing in its clone."""
    name = chance.choice(sorted(AGENTS))
    engram = clones[AGENTS[name]]
    clones.clock.advance(seconds=chance.choice((1, 40, 3000)))
    with engram.calling(f"session of {name}", name):
        deed = chance.choice(("record", "handoff", "observe", "judge", "context", "summary", "register"))
        if deed == "record" and known:
            engram.record(known.pop(), category="fact", agent=name)
        elif deed == "handoff":
            engram.handoff(
                f"Done by {name} at {clones.clock.moment}", to=chance.choice([*set(AGENTS) - {name}, ""])
            )
        elif deed == "observe":
            engram.observe(
                f"Root cause: what {name} saw at {clones.clock.moment} was a full disk of the broker."
            )
        elif deed == "judge" and (here := engram.list(limit=3).lore):
            judged = chance.choice(here).lore.id
            engram.feedback(**{chance.choice(("helpful", "incorrect")): judged}, again=True)
        elif deed == "context":
            engram.get_context("queue consumers and palettes", 600)
        elif deed == "summary":
            engram.summarize(
                f"{name} worked until {clones.clock.moment}.", participants=[chance.choice(sorted(AGENTS))]
            )
        else:
            engram.register_agent(
                name, capabilities=[chance.choice(("review", "go", "python"))], settings={"by": name}
            )


@pytest.mark.slow
def test_four_agents_on_two_clones_end_in_the_same_state(tmp_path: Path) -> None:
    for seed in range(examples(1, 12)):
        chance, clones, known = random.Random(seed), Clones(tmp_path / str(seed)), [*FACTS]
        for turn in range(2):
            for _ in range(8):
                work(clones, chance, known)
            clones.sync(*chance.sample("ab", 1 + turn % 2))
        for name in chance.sample("ab", 2):
            assert not any(step.error for step in clones[name].maintain().steps)
        clones.settle()
        clones.assert_equal()
        _assert_same(clones["a"], clones["b"])


def _assert_same(a: Engram, b: Engram) -> None:
    """Check that both clones show their agents the same."""
    assert [one.lore for one in a.handoffs()] == [one.lore for one in b.handoffs()]
    assert [one[1:] for one in a.conversations(50)] == [one[1:] for one in b.conversations(50)]
    registered = [{one.profile for one in each.team() if one.registered} for each in (a, b)]
    assert registered[0] == registered[1]
    listed = [
        [(one.lore._replace(tally=None), one.path) for one in each.list(limit=None).lore] for each in (a, b)
    ]
    assert listed[0] == listed[1]
    assert [one.lore.thousandths for one in a.list(limit=None).lore] == [
        one.lore.thousandths for one in b.list(limit=None).lore
    ]
    for name in AGENTS:
        told = [each.get_context("queue", 2000, agent=name, take=False).handoffs for each in (a, b)]
        assert len({tuple(one.id for one in each) for each in told}) == 1


def test_a_handoff_taken_over_in_one_clone_is_not_offered_in_another(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    with clones["a"].calling("s", "ada"):
        clones["a"].handoff("The retries are left.", to="bob")
    clones.settle()
    taken = [clones[name].get_context("retries", agent="bob").taken for name in "ab"]
    assert len(taken[0]) == len(taken[1]) == 1, "both before they heard of each other"
    clones.settle()
    clones.assert_equal()
    assert all(clones[name].get_context("retries", agent="bob").handoffs == () for name in "ab")
    assert all(one.lore.conflicts == () for one in clones["a"].list().lore)


# --- the periodic work


def aged(root: Path) -> SetClock:
    """Make a store as after a year: with summaries, a handoff taken over and one not, archived lore."""
    clock = SetClock(prepared.copy("aged", root, _age))
    clock._last = 50
    return clock


def _age(root: Path) -> datetime:
    clock = SetClock(datetime(2026, 1, 5, 9, tzinfo=UTC))
    with open_test_store(dedicated(root), agent="ada", clock=clock) as ada:
        ada.summarize("Old talk about queues.")
        helpful = ada.summarize("Old talk about tides.", new=True).lore.id
        ada.summarize("Old talk, pinned.", new=True)
        ada.edit(ada.conversations(1)[0].lore.id, changed(pinned=True))
        ada.handoff("Taken.", to="bob")
        ada.get_context("nothing at all", agent="bob")
        ada.handoff("Never taken.", to="bob")
        ada.edit(ada.record("Gone out of use.", category="observation").lore.id, changed(status="archived"))
        clock.advance(days=60)
        ada.feedback(helpful=helpful)
        ada.summarize("Newer talk.", new=True)
        clock.advance(days=60)
    return clock.moment


def test_maintain_archives_and_deletes_once_as_the_dry_run_says(tmp_path: Path) -> None:
    root = tmp_path / "store"
    clock = aged(root)
    user = Path(os.environ["XDG_CONFIG_HOME"]) / "engram/config.toml"
    with open_test_store(root, clock=clock) as engram:
        before = [file.read_bytes() for file in lore_files(root)]
        planned = engram.maintain(dry_run=True)
        assert {step.step: step.number for step in planned.steps if step.number} == {"archive": 2}
        assert [file.read_bytes() for file in lore_files(root)] == before
        assert engram.maintain().steps == planned.steps
        gone = {one.lore.title for one in engram.list(limit=None, status="archived").lore}
        assert gone == {"Old talk about queues.", "Handoff from ada to bob", "Gone out of use."}
        assert engram.search("Old talk about queues.", tags=["x"]).lore == ()
        assert not any(step.number for step in engram.maintain().steps)
    user.parent.mkdir(parents=True)
    user.write_text("[scopes.project]\ngarbage_days = 90\nretention_days = 1000\n")
    with open_test_store(root, clock=clock) as engram:
        assert [step.number for step in engram.maintain().steps if step.step == "garbage"] == [1]
        assert "Gone out of use." not in str(engram.list(limit=None))
        clock.advance(days=1100)
        count = len(lore_files(root))
        (garbage,) = [step.number for step in engram.maintain().steps if step.step == "garbage"]
        assert 0 < garbage == count - len(lore_files(root))
        assert {one.lore.title for one in engram.list(limit=None).lore} == {"Old talk, pinned."}
    ok("status", cwd=root)
    subjects = git(root, "log", "--format=%s").splitlines()
    assert {"maintain: archive 2 entries", "maintain: delete 1 entry"} <= set(subjects)
    assert git(root, "status", "--porcelain") == ""


def test_a_failing_step_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = aged(tmp_path / "store")
    with (tmp_path / "store/.engram.toml").open("a") as file:
        file.write("[team]\narchive_days = 30\n")

    def broken(_store: object, _dry_run: bool) -> int:
        raise StoreError("The disk is full.")

    monkeypatch.setitem(maintain.STEPS, "observations", broken)  # type: ignore[call-overload]
    with open_test_store(tmp_path / "store", clock=clock) as engram:
        done = engram.maintain().steps
        assert (done[0].error, done[0].number) == ("The disk is full.", 0)
        assert {step.step: step.number for step in done}["archive"] == 4


def test_maintenance_runs_after_a_sync_and_once_a_day(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    clock = SetClock()
    with open_test_store(root, clock=clock) as engram:
        store = engram.store
        done = []
        for hours, synced in (
            (0, False),
            (1, True),
            (1, True),
            (22, False),
            (1, False),
            (1, True),
            (0, True),
        ):
            clock.advance(hours=hours)
            if synced:
                sync_state.remember(store, "origin", None)
            before = maintain.last_time(store)
            background.tidy(store)
            done.append(maintain.last_time(store) != before)
        assert done == [False, True, False, False, True, False, False]
        clock.advance(days=-30)
        assert maintain.is_due(store), "a clock that was set back does not put it off"
    (root / ".engram.toml").write_text('[store]\nfolder = "lore"\n')
    off = Path(os.environ["XDG_CONFIG_HOME"]) / "engram/config.toml"
    off.parent.mkdir(parents=True)
    off.write_text("[maintain]\nauto = false\n")
    with open_test_store(root, clock=clock) as engram:
        assert not maintain.is_due(engram.store)


def test_undo_skips_automatic_maintenance(tmp_path: Path) -> None:
    root = tmp_path / "store"
    clock = aged(root)
    with open_test_store(root, clock=clock) as engram:
        mine = engram.record("What a person wrote last.", category="fact").lore
        sync_state.remember(engram.store, "origin", None)
        done = maintain.maintain_if_due(engram.store)
        assert done is not None
        assert any(step.number for step in done.steps)
        assert engram.undo().lore == (mine.id,)
        assert engram.list(limit=None, status="archived").total == 3


def test_automatic_maintenance_limits_the_changes_of_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintain, "_MOST_AUTOMATIC", 1)
    clock = aged(tmp_path / "store")
    with open_test_store(tmp_path / "store", clock=clock) as engram:
        numbers = []
        for _ in range(3):
            sync_state.remember(engram.store, "origin", None)
            done = maintain.maintain_if_due(engram.store)
            assert done is not None
            numbers.append(next(step.number for step in done.steps if step.step == "archive"))
            clock.advance(days=1, hours=1)
        assert numbers == [1, 1, 0]


def test_the_background_process_records_observations(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    with open_test_store(root) as engram:
        engram.observe("Root cause: one of the disks of the broker was full.")
        background.tidy(engram.store)
        assert engram.list(status="pending").total >= 1
