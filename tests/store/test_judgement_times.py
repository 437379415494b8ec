"""Lines from the future: a clock that is ahead changes confidences elsewhere only by its votes, and its own not for long.

The clock is libfaketime's, so every command sees it, with all that it starts: git, and the work in the background.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, git, ok, variables
from sync_kit import Clones, bare

from engram.domain.judgements.tally import day_of
from engram.usecases.judgements.commit_own import commit_own

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), "")
needs_faketime = pytest.mark.skipif(not LIBRARY, reason="libfaketime is not installed (apt install faketime)")


def command(where: Path, *words: str, days: int = 0) -> str:
    """Run `engram` there by a clock that is so many days off, and return what it prints."""
    environment = variables()
    if days:
        environment |= {"LD_PRELOAD": LIBRARY, "FAKETIME": f"{days:+}d", "FAKETIME_NO_CACHE": "1"}
    program = [sys.executable, "-m", "engram", *words]
    done = subprocess.run(program, cwd=where, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, (words, done.stderr.decode())
    return done.stdout.decode()


def test_a_line_from_the_future_counts_as_of_its_commit_until_its_time_has_come(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    right = clones.clock.moment
    lore = clones.record("a")
    clones.settle()
    clones.clock.moment = right + timedelta(days=3650)
    clones["b"].feedback(helpful=lore.id)
    clones.clock.moment = right + timedelta(days=1)  # its clock is right again before it syncs
    clones.sync("b")
    clones.sync("a")
    for days, expected in ((1, 780), (30, 780), (31, 770), (95, 750)):
        clones.clock.moment = right + timedelta(days=days)
        for name in "ab":
            found = clones[name].get(lore.id).lore
            assert (found.thousandths, found.validation_count) == (expected, 1), (name, days)
            assert clones[name].list().lore[0].lore.thousandths == expected, (name, days)
            assert found.tally is not None
            assert found.tally.anchor == day_of(right) + 1


def test_a_line_whose_time_has_come_counts_as_of_its_own_time_in_every_list(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    right = clones.clock.moment
    lore = clones.record("a")
    clones.settle()
    clones.clock.moment = right + timedelta(days=40)
    clones["b"].feedback(helpful=lore.id)
    clones.clock.moment = right
    clones.sync("b")
    clones.sync("a")
    for days, expected in ((39, 770), (40, 780), (71, 770)):
        clones.clock.moment = right + timedelta(days=days)
        for name in "ab":
            assert clones[name].list().lore[0].lore.thousandths == expected, (name, days)
            assert clones[name].get(lore.id).lore.thousandths == expected, (name, days)


def test_a_line_from_the_past_counts_as_of_the_commit_before_its_own(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    right = clones.clock.moment
    lore, other = clones.record("a"), clones.record("a", "Queues are drained at night.")
    clones.clock.moment = right + timedelta(days=60)
    clones["a"].feedback(helpful=other.id)
    clones.settle()
    clones.clock.moment = right - timedelta(days=100)
    clones["b"].feedback(helpful=lore.id)
    clones.sync("b", "a")
    clones.add("c")
    clones.stores["c"] = clones.add_opened("c")
    for days, expected in ((60, 780), (89, 780), (90, 770), (121, 760)):
        clones.clock.moment = right + timedelta(days=days)
        for name in "abc":
            found = clones[name].get(lore.id).lore
            assert found.tally is not None
            assert (found.tally.anchor - day_of(right), found.thousandths) == (60, expected), (name, days)
            listed = {one.lore.id: one.lore.thousandths for one in clones[name].list().lore}
            assert listed[lore.id] == expected, (name, days)


def test_a_line_written_before_others_synced_keeps_its_own_time(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    right = clones.clock.moment
    lore, other = clones.record("a"), clones.record("a", "Queues are drained at night.")
    clones.settle()
    clones["b"].feedback(helpful=lore.id)
    assert commit_own(clones["b"].store), "as every program does when it closes"
    clones.clock.moment = right + timedelta(days=60)
    clones["a"].feedback(helpful=other.id)
    clones.sync("a", "b", "a")
    for name in "ab":
        assert clones[name].get(lore.id).lore.thousandths == 760


@pytest.mark.slow
@needs_faketime
@pytest.mark.parametrize("days", [3650, -3650, 40, -40])
def test_every_command_by_a_wrong_clock_changes_no_other_clone_by_more_than_its_votes(
    tmp_path: Path, days: int
) -> None:
    hub, here, there = bare(tmp_path / "hub.git"), tmp_path / "here", tmp_path / "there"
    ok("init", str(here), cwd=tmp_path)
    texts = (
        QUEUE,
        "The cache is warmed by a job at four in the morning.",
        "Retries wait twice as long each time.",
    )
    ids = [ok("record", text, "-c", "fact", "--json", cwd=here).json["lore"]["id"] for text in texts]
    git(here, "remote", "add", "origin", str(hub))
    ok("sync", cwd=here)
    git(tmp_path, "clone", "-q", str(hub), str(there))
    before = confidences(here)
    for words in (
        ("sync",),
        ("query", "queue consumers"),
        ("feedback", "--helpful", ids[0]),
        ("list",),
        ("show", ids[1]),
    ):
        command(there, *words, days=days)
    for words in (("consolidate",), ("maintain",), ("reindex", "--rebuild"), ("status",), ("sync",)):
        command(there, *words, days=days)
    wait_for_background(there)
    expected = before | {ids[0]: before[ids[0]] + 0.08}
    ok("sync", cwd=here)
    assert confidences(here) == pytest.approx(expected)
    # Its clock is right again: its own view is that of everybody, and goes on being so.
    command(there, "feedback", "--incorrect", ids[1])
    command(there, "sync")
    ok("sync", cwd=here)
    expected[ids[1]] -= 0.15
    for root in (here, there):
        assert confidences(root) == pytest.approx(expected), root
    # Neither months later does anything differ between the two.
    for month in (61, 122):
        faded = [faded_confidences(root, month) for root in (here, there)]
        assert faded[0] == faded[1]
        assert all(faded[0][one] <= expected[one] + 0.001 for one in ids)


def confidences(root: Path) -> dict[str, float]:
    return {one["id"]: one["confidence"] for one in ok("list", "--json", cwd=root).json["lore"]}


def faded_confidences(root: Path, days: int) -> dict[str, float]:
    import json

    listed = json.loads(command(root, "list", "--json", days=days))["lore"]
    return {one["id"]: one["confidence"] for one in listed}


def wait_for_background(root: Path) -> None:
    """Wait until no process that a command left behind works on the store."""
    folder, until = os.path.realpath(root), time.monotonic() + 60
    while time.monotonic() < until and any(
        folder in _place(pid) for pid in os.listdir("/proc") if pid.isdigit()
    ):
        time.sleep(0.05)


def _place(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""
