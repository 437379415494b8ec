"""Databases that an earlier version set aside as damaged: which are restored, and which stay aside."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from engram.adapters.state.activity_table import ActivityLine
from engram.adapters.state.captured_table import CapturedTable
from engram.adapters.state.database import StateDatabase
from engram.adapters.state.trust_tables import QuarantinedText

if TYPE_CHECKING:
    from pathlib import Path


OF_BEFORE = """
PRAGMA user_version=6;
CREATE TABLE sessions (name TEXT PRIMARY KEY, started REAL NOT NULL, used REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE refs (
    session TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, at REAL NOT NULL,
    scope TEXT NOT NULL DEFAULT '', PRIMARY KEY (session, number)) WITHOUT ROWID;
CREATE TABLE held (
    id TEXT NOT NULL, digest TEXT NOT NULL, commit_id TEXT NOT NULL, why TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (id, digest)) WITHOUT ROWID;
CREATE TABLE retrievals (
    number INTEGER PRIMARY KEY, at REAL NOT NULL, session TEXT NOT NULL, query TEXT NOT NULL, strategy TEXT NOT NULL,
    strength TEXT NOT NULL, ids TEXT NOT NULL, scores TEXT NOT NULL, took_ms REAL NOT NULL);
INSERT INTO held VALUES ('B', 'digest', 'commit', 'foreign', 7.0);
INSERT INTO refs VALUES ('session', 1, 'B', 'title', 7.0, '');
INSERT INTO retrievals VALUES (1, 7.0, 'session', 'asked of the old version', '', 'none', '[]', '[]', 1.0);
"""


def fill(folder: Path) -> None:
    """What a clone has: lines of the log, a quarantined text, what was shown and captured."""
    state = StateDatabase(str(folder))
    state.refs("session")
    for moment in (1.0, 2.0, 3.0):
        state.live.add(ActivityLine(moment, "session", f"asked at {moment}", "", "none", (), (), 1.0))
    state.trust.quarantine([QuarantinedText("A", "digest", "commit", "foreign", 1.0)])
    state.surface("session", [("A", "title")], 1.0)
    CapturedTable(state).add("01", "captured", 2e12, 10)
    state.close()


def put_aside_as_before(folder: Path, script: str = OF_BEFORE) -> None:
    """Do what earlier versions did if a table had an unknown column: rename the file and start a new one."""
    for suffix in ("", "-wal", "-shm"):
        if (file := folder / f"state.db{suffix}").exists():
            file.rename(f"{file}.damaged")
    with sqlite3.connect(folder / "state.db") as begun:
        begun.executescript(script)
    begun.close()


def asked(state: StateDatabase) -> list[str]:
    return [entry.query for entry in state.live.latest(10)]


def test_a_database_set_aside_as_damaged_by_an_earlier_version_is_restored(tmp_path: Path) -> None:
    fill(tmp_path)
    put_aside_as_before(tmp_path)
    reports: list[str] = []
    state = StateDatabase(str(tmp_path), reports.append)
    assert state.trust.quarantined() == {"A": {"digest"}, "B": {"digest"}}
    assert asked(state) == ["asked of the old version", "asked at 3.0", "asked at 2.0", "asked at 1.0"]
    assert CapturedTable(state).rows(1.0) == [("01", "captured")]
    assert [ref.id for ref in state.refs("session")] == ["B"]  # what is called L1 since stays L1
    state.close()
    assert os.listdir(tmp_path) == ["state.db"]
    assert not reports


def test_lines_still_in_a_write_ahead_log_are_restored_too(tmp_path: Path) -> None:
    fill(tmp_path)
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)  # as a killed process: no checkpoint
    other.execute("UPDATE held SET why = 'only in the log'")
    for suffix in ("", "-wal"):
        (tmp_path / f"kept{suffix}").write_bytes((tmp_path / f"state.db{suffix}").read_bytes())
    other.close()
    for suffix in ("", "-wal"):
        (tmp_path / f"kept{suffix}").rename(tmp_path / f"state.db{suffix}")
    put_aside_as_before(tmp_path)
    whys = {row.id: row.why for row in StateDatabase(str(tmp_path)).trust.rows()}
    assert whys == {"A": "only in the log", "B": "foreign"}


def test_a_really_damaged_database_stays_set_aside(tmp_path: Path) -> None:
    fill(tmp_path)
    put_aside_as_before(tmp_path)
    damaged = tmp_path / "state.db.damaged"
    raw = bytearray(damaged.read_bytes())
    raw[4096:] = b"\x55" * (len(raw) - 4096)
    damaged.write_bytes(raw)
    state = StateDatabase(str(tmp_path))
    assert state.trust.quarantined() == {"B": {"digest"}}
    assert asked(state) == ["asked of the old version"]
    assert damaged.read_bytes() == raw


def test_data_of_a_later_version_stays_set_aside_for_it(tmp_path: Path) -> None:
    """And is not taken twice where that version opens the file."""
    fill(tmp_path)
    with sqlite3.connect(tmp_path / "state.db") as later:
        later.execute("ALTER TABLE held ADD COLUMN of_the_future TEXT")
    later.close()
    put_aside_as_before(tmp_path)
    for _ in range(2):
        state = StateDatabase(str(tmp_path))
        assert state.trust.quarantined() == {"A": {"digest"}, "B": {"digest"}}
        assert len(asked(state)) == 4
        state.run("PRAGMA user_version=7")
        state.close()
    assert (tmp_path / "state.db.damaged").exists()
