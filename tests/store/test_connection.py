"""Processes that open the private database at once wait for one another and keep what they write."""

from __future__ import annotations

import sqlite3
import threading
import time
from typing import TYPE_CHECKING

from engram.adapters.state.captured_table import CapturedTable
from engram.adapters.state.database import StateDatabase
from engram.domain.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_opening_waits_for_a_process_that_opens_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite refuses the switch to a write-ahead log at once while another holds the file, whatever the timeout."""
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        other.rollback()

    monkeypatch.setattr(time, "sleep", pause)
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
