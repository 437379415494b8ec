"""Judgements in an open store: durable, in the next answer, in no diff; and the migration of votes of format 1."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import textwrap
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SetClock, dedicated, git, lore_files, ok, open_test_store, variables
from effort import examples, sampled
from storekit import commit
from sync_kit import Clones

from engram.domain.entry.confidence import Vote
from engram.domain.errors import RemoteError
from engram.usecases.recording.edit import Edit
from engram.usecases.store import judgements
from engram.usecases.upkeep.maintain import maintain

if TYPE_CHECKING:
    from engram.app import Engram

VOTES = "{AAAAAAAA: {up: 80, down: 0, n: 1}, BBBBBBBB: {up: 0, down: 150, n: 0}, idle.2026-02: {up: 0, down: 10, n: 0}}"


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(dedicated(tmp_path / "store"), clock=SetClock())


def of_format_1(store: Engram, text: str = QUEUE) -> str:
    """The id of an entry whose file holds votes, as a version of before has written it."""
    lore = store.record(text, category="FAILURE").lore
    file = Path(store.path) / store.get(lore.id).path
    fields = f"confidence: 0.62\nvotes: {VOTES}\nvalidation_count: 1\nlast_validated: 2026-03-04T05:06:07Z\n"
    file.write_text(file.read_text("utf-8").replace("created_at:", f"{fields}created_at:"), "utf-8")
    store.refresh()
    commit(store)
    return lore.id


def ledgers(store: Engram) -> list[Path]:
    return sorted(Path(store.store.ledgers.folder).rglob("*.jsonl"))


def test_a_judgement_appends_a_line_and_changes_no_entry_file(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FAILURE").lore.id
    commit(store)
    before = lore_files(Path(store.path))[0].read_bytes()
    store.feedback(helpful=lore_id)
    (ledger,) = ledgers(store)
    said = json.loads(ledger.read_text("utf-8"))
    assert (said["entry"], said["kind"]) == (lore_id, "helpful")
    assert not any(isinstance(value, int | float) for value in said.values()), "no weight can be written"
    assert lore_files(Path(store.path))[0].read_bytes() == before
    assert git(Path(store.path), "status", "--porcelain") == ""


def test_a_judgement_is_in_the_next_answer_of_this_process_and_of_another(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FAILURE").lore.id
    other = open_test_store(Path(store.path), clock=SetClock())
    assert other.query("idempotent queue").lore[0].lore.confidence == 0.7
    store.feedback(helpful=lore_id)
    for one in (store, other):
        assert one.query("idempotent queue").lore[0].lore.confidence == 0.78
        assert one.query("idempotent queue", min_confidence=0.75).lore[0].lore.id == lore_id


KILLED = """
    import os, signal, sys
    from engram.domain.entry.confidence import HELPFUL
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.recording.feedback import feedback
    from engram.usecases.store.store import Caller, Clock

    root, name, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
    store, count = open_store(root, Caller("child", "tester"), clock=Clock()), 0

    def watch(event, arguments):
        global count
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in ("os.rename", "os.remove", "os.mkdir", "sqlite3.connect"):
            count += 1
            if count == limit:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    feedback(store, helpful=[name])
    print(count)
"""


def test_wherever_a_judging_process_is_killed_the_next_counts_what_is_on_disk(store: Engram) -> None:
    lore_id, limit, killed = store.record(QUEUE, category="FAILURE").lore.id, 0, 0
    store.query("idempotent queue")
    store.close()
    done = None
    while done is None or done.returncode:
        limit += examples(2, 1)
        command = [sys.executable, "-c", textwrap.dedent(KILLED), store.path, lore_id, str(limit)]
        done = subprocess.run(command, env=variables(), capture_output=True, check=False)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        killed += bool(done.returncode)
        lines = [line for ledger in ledgers(store) for line in ledger.read_bytes().splitlines()]
        assert all(json.loads(line)["kind"] == "helpful" for line in lines)
        assert open_test_store(Path(store.path)).list().lore[0].lore.validation_count == len(lines)
    assert killed > 2


def test_decay_is_correct_each_day_and_nothing_is_written(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    store.query("idempotent queue")
    clock = store.store.clock
    assert isinstance(clock, SetClock)
    file = lore_files(Path(store.path))[0]
    before = file.read_bytes()
    for months in (1, 2, 12):
        clock.moment = clock.moment.replace(year=2026, month=3, day=4) + timedelta(days=30 * months)
        assert store.query("idempotent queue").lore[0].lore.thousandths == 700 - 10 * months
        assert store.list().lore[0].lore.thousandths == 700 - 10 * months
        assert store.get(lore_id).lore.thousandths == 700 - 10 * months
    assert file.read_bytes() == before


def test_a_file_of_format_1_keeps_its_confidence_and_its_first_write_moves_its_votes(store: Engram) -> None:
    lore_id = of_format_1(store)
    before = store.get(lore_id).lore
    assert (before.thousandths, before.validation_count) == (630, 1), "idle months are computed now"
    store.edit(lore_id, Edit(add_tags=("queue",)))
    after = store.get(lore_id).lore
    assert (after.thousandths, after.validation_count, after.last_validated) == (
        630,
        1,
        before.last_validated,
    )
    text = lore_files(Path(store.path))[0].read_text("utf-8")
    assert not re.search("votes|prior|validation_count|last_validated|confidence", text)
    assert "AAAAAAAA" in ledgers(store)[0].read_text("utf-8")


def test_maintenance_moves_all_votes_and_its_undo_restores_the_files_and_leaves_the_sums(
    store: Engram,
) -> None:
    ids = [of_format_1(store, f"{QUEUE} Number {number}.") for number in range(3)]
    store.close()
    files = {path: path.read_bytes() for path in lore_files(Path(store.path))}
    for _ in range(2):
        moved = {one.step: one.number for one in maintain(store.store).steps}["migrate"]
    assert moved == 0, "once is enough"
    assert all(b"votes" not in path.read_bytes() for path in files)
    assert [store.get(one).lore.thousandths for one in ids] == [630] * 3
    store.undo()
    assert {path: path.read_bytes() for path in files} == files
    assert [store.get(one).lore.thousandths for one in ids] == [630] * 3


def test_votes_that_an_older_version_adds_to_a_moved_file_count_once(store: Engram) -> None:
    lore_id = of_format_1(store)
    maintain(store.store)
    file = lore_files(Path(store.path))[0]
    more = "confidence: 0.86\nvotes: {AAAAAAAA: {up: 160, down: 0, n: 2}}\nvalidation_count: 2\n"
    file.write_text(file.read_text("utf-8").replace("created_at:", f"{more}created_at:"), "utf-8")
    store.refresh()
    lore = store.get(lore_id).lore
    assert (lore.thousandths, lore.validation_count) == (710, 2)
    assert lore.accounts["AAAAAAAA"] == Vote(160, 0, 2)


def test_votes_in_the_state_database_are_moved_too(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FAILURE").lore.id
    store.store.state.run("INSERT INTO votes VALUES (?, 80, 0, 1)", (lore_id,))
    store.close()
    again = open_test_store(Path(store.path), clock=SetClock())
    judgements.refresh(again.store)
    assert again.get(lore_id).lore.validation_count == 1
    assert again.store.state.own_votes() == {}


def test_two_branches_that_vote_merge_without_a_driver_and_both_count(tmp_path: Path) -> None:
    root = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    ok("init", "--placement", "in-tree", cwd=root)
    lore_id = ok("record", QUEUE, "-c", "failure", "--json", cwd=root).json["lore"]["id"]
    git(root, "add", "-A")
    git(root, "commit", "-qm", "lore")
    git(root, "config", "--unset-all", "merge.engram.driver", check=False)
    for branch in ("one", "two"):
        git(root, "switch", "-qc", branch, "main")
        ok("feedback", "--helpful", lore_id, "--again", cwd=root)
        assert git(root, "status", "--porcelain") == ""
        (root / branch).write_text(branch)
        git(root, "add", "-A")
        git(root, "commit", "-qm", branch)
    git(root, "merge", "-q", "--no-edit", "one")
    assert ok("show", lore_id, "--json", cwd=root).json["lore"]["validation_count"] == 2


def test_judgements_are_pushed_even_if_the_branch_of_entries_is_protected(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    lore = clones.record("a")
    clones.settle()
    hook = tmp_path / "hub.git/hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        "#!/bin/sh\nwhile read old new ref; do [ $ref = refs/heads/main ] && exit 1; done; exit 0\n"
    )
    hook.chmod(0o755)
    clones["a"].edit(lore.id, Edit(add_tags=("refused",)))
    clones["a"].feedback(helpful=lore.id)
    clones["b"].feedback(helpful=lore.id)
    for name in "abab":
        with contextlib.suppress(RemoteError):  # the words are refused
            clones.sync(name)
    for name in "ab":
        assert clones[name].get(lore.id).lore.validation_count == 2


@sampled("days", [3650, -3650, 40, -40], everyday=2)
def test_a_clock_that_is_wrong_changes_no_other_clone_by_more_than_its_votes(
    tmp_path: Path, days: int
) -> None:
    clones = Clones(tmp_path)
    lore = clones.record("a")
    clones.settle()
    right = clones.clock.moment
    clones.clock.moment = right + timedelta(days=days)
    clones["b"].query("idempotent")
    clones["b"].feedback(helpful=lore.id)
    clones["b"].apply(clones["b"].consolidate())
    clones.sync("b")
    clones.clock.moment = right + timedelta(days=1)
    clones.settle()
    for name in "ab":
        found = clones[name].get(lore.id).lore
        assert (found.thousandths, found.validation_count) == (780, 1)
        assert clones[name].list().lore[0].lore.thousandths == 780
