"""The private database of a clone: processes that open it at once all keep what they write."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

from engram.adapters.state import connection
from engram.adapters.state.activity_table import LiveEntry
from engram.adapters.state.captured_table import CapturedTable
from engram.adapters.state.database import StateDatabase
from engram.adapters.state.hook_memory import HookMemory
from engram.adapters.state.learned_moments import LearnedMoments
from engram.adapters.state.moment_counts import MomentCounts
from engram.domain.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_file_that_another_process_opens_at_the_same_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite refuses the switch to a write-ahead log at once while another holds the file, whatever the timeout."""
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        other.rollback()

    monkeypatch.setattr(connection.time, "sleep", pause)
    reports: list[str] = []
    state = StateDatabase(str(tmp_path), reports.append)
    CapturedTable(state).add("01", "captured", 2e12, 10)
    assert CapturedTable(StateDatabase(str(tmp_path))).rows(1.0) == [("01", "captured")]
    assert waited
    assert not reports


def test_processes_that_open_a_new_file_at_once_all_keep_what_they_write(tmp_path: Path) -> None:
    failed: list[object] = []

    def write(folder: str, barrier: threading.Barrier, name: str) -> None:
        barrier.wait()
        try:
            CapturedTable(StateDatabase(folder, failed.append)).add(name, "captured", 2e12, 10)
        except StoreError as error:
            failed.append(error)

    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        barrier = threading.Barrier(6)
        threads = [threading.Thread(target=write, args=(str(folder), barrier, name)) for name in "abcdef"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert len(CapturedTable(StateDatabase(str(folder))).rows(1.0)) == 6


def test_every_table_can_be_written_where_a_later_version_has_added_columns(tmp_path: Path) -> None:
    """An error would rename the file as damaged, and with it all that hooks captured."""
    reports: list[str] = []
    state = StateDatabase(str(tmp_path), reports.append)

    def write(name: str) -> None:
        CapturedTable(state).add(name, "captured", 2e12, 10)
        HookMemory(state).mark("shown", "session", name, 1.0)
        LearnedMoments(state).learn(name, ["error: boom"], 1.0)
        MomentCounts(state).count([name], is_new=True)
        state.judged("session", name, "helpful", 1.0)
        state.put_aside(name, "mark", None)
        state.surface(name, [(name, "title")], 1.0)
        state.live.add(LiveEntry(1.0, "session", "query", "", "none", (), (), 1.0))
        state.live.flush()

    write("now")
    for (table,) in state.run(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    ):
        state.run(f"ALTER TABLE {table} ADD COLUMN of_the_future TEXT")
    write("later")
    assert not reports
    assert [name for name, _ in CapturedTable(state).rows(1.0)] == ["now", "later"]
