"""The activity log: what each front end did, by which process, within its limits."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, TIDES, cli, dedicated, open_test_store
from hookkit import answer
from mcp_kit import connect_inside, ok

from engram.adapters.state.activity_table import ActivityLine
from engram.adapters.state.database import StateDatabase
from engram.domain.errors import UsageError
from engram.usecases.recording.edit import Edit
from engram.usecases.store import remote
from engram.usecases.store.activity_log import follow

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram

CLAUDE = "claude-code"


def last(store: Engram) -> ActivityLine:
    return store.live(limit=1)[0]


def test_every_action_leaves_a_line(root: Path) -> None:
    with open_test_store(root) as store:
        recorded = store.record(QUEUE, category="fact")
        store.record(COLOUR, category="fact")
        found = store.query("queue consumer patterns", budget=10)
        store.feedback(helpful="L1")
        store.edit(recorded.lore.id, Edit(pinned=True))
        store.forget(recorded.lore.id)
        lines = store.live()
    assert [line.action for line in lines] == ["record", "record", "query", "feedback", "edit", "forget"]
    assert [line.number for line in lines] == [1, 2, 3, 4, 5, 6]
    query = lines[2]
    assert (query.query, query.ids, query.tokens) == ("queue consumer patterns", (recorded.lore.id,), 10)
    assert (query.strength, query.took_ms, query.agent) == (found.strength, found.took_ms, "tester")
    assert lines[3].details == {"helpful": 1, "incorrect": 0, "not_relevant": 0}
    assert all(line.ids == (recorded.lore.id,) for line in lines[2:])


def test_withheld_entries_are_logged_as_too_weak(root: Path) -> None:
    with open_test_store(root) as store:
        store.record(TIDES, category="fact")
        store.query("how to bake bread without yeast")
        entry = last(store)
        assert entry.ids == ()
        assert [one.why for one in entry.withheld] == ["too weak"]


def test_entries_after_a_number_are_returned(root: Path) -> None:
    with open_test_store(root) as store:
        for number in range(5):
            store.query(f"question {number}")
        assert [entry.query for entry in store.live(limit=2)] == ["question 3", "question 4"]
        assert [entry.query for entry in store.live(since=1, limit=2)] == ["question 1", "question 2"]
        assert store.live(since=5) == []
        with pytest.raises(UsageError):
            store.live(limit=0)


def test_follow_yields_each_entry_once(root: Path) -> None:
    with open_test_store(root) as store:
        store.query("first")

        def pause() -> None:
            store.query("second")
            store.query("third")

        entries = follow(store.store, None, 10, pause)
        assert [next(entries).query for _ in range(3)] == ["first", "second", "third"]


def test_hooks_log_what_they_showed_and_withheld(root: Path) -> None:
    with open_test_store(root) as store:
        store.record(QUEUE, category="fact", agent="human")
        store.refresh()
    for prompt in (QUEUE, f"{QUEUE} Again, please."):
        answer(CLAUDE, "prompt", root, prompt=prompt)
    with open_test_store(root) as store:
        shown, again = [entry for entry in store.live() if entry.via == "hook prompt"]
    assert (shown.action, len(shown.ids), shown.agent) == ("query", 1, CLAUDE)
    assert shown.tokens > 20
    assert (again.ids, [one.why for one in again.withheld]) == ((), ["shown before"])
    assert again.withheld[0].ids == shown.ids


def test_a_log_of_an_earlier_version_is_continued(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state.db")) as old:
        old.execute(
            "CREATE TABLE retrievals (number INTEGER PRIMARY KEY, at REAL NOT NULL, session TEXT NOT NULL, query TEXT NOT NULL,"
            " strategy TEXT NOT NULL, strength TEXT NOT NULL, ids TEXT NOT NULL, scores TEXT NOT NULL, took_ms REAL NOT NULL)"
        )
        old.execute(
            "INSERT INTO retrievals VALUES (7, 1.0, 's', 'q', 'hybrid', 'strong', '[\"A\"]', '[0.5]', 1.5)"
        )
        old.execute("PRAGMA user_version = 4")
        old.commit()
    state = StateDatabase(str(tmp_path))
    before = ActivityLine(1.0, "s", "q", "hybrid", "strong", ("A",), (0.5,), 1.5, number=7)
    assert state.retrievals() == [before]
    state.live.add(before._replace(action="get", via="cli"))
    assert [entry.number for entry in state.live.since(0, 9)] == [7, 8]
    assert state.used_since(0) == {"A"}
    state.close()


def test_lines_written_without_a_database_are_added_to_the_log(root: Path) -> None:
    with open_test_store(root) as store:
        store.record(QUEUE, category="fact")
        waiting = [path for path in root.rglob("live.jsonl") if path.stat().st_size]
        assert len(waiting) == 1
        assert not list(root.rglob("state.db"))
        with waiting[0].open("ab") as file:
            file.write(b'["unfinished", ')
    with open_test_store(root) as store:
        assert [entry.action for entry in store.live()] == ["record"]
        store.record(COLOUR, category="fact")  # the database is open now
        store.query("palette")
        assert [entry.action for entry in store.live()] == ["record", "record", "query"]
    assert not list(root.rglob("live.jsonl*"))


def test_only_the_latest_lines_are_kept(root: Path) -> None:
    with open_test_store(root) as store:
        for number in range(6):
            store.query(f"question {number}")
        store.store.state.live.prune(2)
        assert [entry.number for entry in store.live()] == [5, 6]
        store.query("another")
        assert store.live(since=6)[0].number == 7


def test_nothing_is_logged_if_logging_is_off(root: Path, home: Path) -> None:
    (home / ".config/engram").mkdir(parents=True)
    (home / ".config/engram/config.toml").write_text("[recall]\nlog = false\n")
    with open_test_store(root) as store:
        store.record(QUEUE, category="fact")
        store.query("queue")
        assert store.live() == []


async def test_mcp_tools_are_logged_with_their_front_end(root: Path) -> None:
    async with connect_inside(root) as client:
        made = await ok(client, "recall_record", content=QUEUE, category="fact")
        await ok(client, "recall_query", query="queue consumer patterns", k=1)
        await ok(client, "recall_get", refs=[made["id"]])
        await ok(client, "recall_feedback", helpful=["L1"])
    with open_test_store(root) as store:
        lines = [entry for entry in store.live() if entry.via == "mcp"]
    assert [line.action for line in lines] == ["record", "query", "get", "feedback"]
    assert all(line.ids == (made["id"],) for line in lines)
    assert lines[2].tokens > 20


def test_a_sync_and_an_import_log_their_counts(tmp_path: Path) -> None:
    subprocess.run(("git", "init", "-q", "--bare", str(tmp_path / "hub.git")), check=True)
    root = dedicated(tmp_path / "store")
    (tmp_path / "note.md").write_text("# Seats\n\nTwenty seats.\n")
    with open_test_store(root) as store:
        store.import_markdown(str(tmp_path / "note.md"))
        remote.add(store.store, "origin", str(tmp_path / "hub.git"))
        store.sync()
        counts = {entry.action: dict(entry.details) for entry in store.live()}
        found = {metric.name: metric.value for metric in store.metrics()}
    assert counts["import"] == {"imported": 1, "skipped": 0, "problems": 0}
    assert (counts["sync"]["pushed"], counts["sync"]["errors"]) == (1, 0)
    assert (found["engram.sync.push.total"], found["engram.sync.pull.total"]) == (1, 0)


def test_the_commands_show_it(root: Path) -> None:
    assert cli("live", cwd=root).out == "Nothing was done here yet.\n"
    cli("record", QUEUE, "-c", "fact", cwd=root)
    cli("query", "queue consumer patterns", cwd=root)
    shown = cli("live", cwd=root).out
    assert "cli" in shown
    assert "query · strong · 1 entry" in shown
    assert "queue consumer patterns" in shown
    document = cli("live", "--since", "1", "--json", cwd=root).json
    assert (document["last"], [one["action"] for one in document["entries"]]) == (2, ["query"])
    table = cli("metrics", cwd=root).out
    assert "engram.recorded.total via=cli" in table
    assert cli("metrics", "--json", cwd=root).json["metrics"]
    text = cli("metrics", "--format", "prometheus", cwd=root).out
    assert 'engram_recalled_total{via="cli"} 1' in text


def test_assigning_refs_reads_no_other_ref_of_the_session(tmp_path: Path) -> None:
    state = StateDatabase(str(tmp_path))
    shown = [(f"id{number}", "title") for number in range(400)]
    state.surface("long", shown, 1.0)
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    state.work(lambda connection: connection.set_progress_handler(count, 10))
    assert state.surface("long", [("id7", "title"), ("new", "title")], 2.0) == {"id7": "L8", "new": "L401"}
    assert steps < 60  # tens of instructions of SQLite's; going through all refs are hundreds
    state.close()
