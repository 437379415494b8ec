"""An open store and its threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from storekit import open_test_store

from engram.usecases.store import store as stores

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_closing_waits_for_a_thread_that_uses_the_store(tmp_path: Path) -> None:
    engram = open_test_store(tmp_path / "store")
    began, found = threading.Event(), list[object]()

    def work() -> None:
        with engram.store.lock:
            began.set()
            for _ in range(300):  # SQLite would crash, or say that the database is closed
                found.append(engram.store.state.refs("test"))

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    engram.close()
    assert len(found) == 300
    thread.join()


def test_a_thread_that_takes_too_long_keeps_its_files_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_CLOSE_SECONDS", 0.01)
    engram = open_test_store(tmp_path / "store")
    begin, end, found = threading.Event(), threading.Event(), list[object]()

    def work() -> None:
        with engram.store.lock:
            begin.set()
            end.wait()
            found.append(engram.store.state.refs("test"))

    thread = threading.Thread(target=work)
    thread.start()
    begin.wait()
    engram.store.close()
    end.set()
    thread.join()
    assert len(found) == 1
    engram.close()
