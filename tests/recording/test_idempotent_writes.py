"""Writing with an idempotency key happens once: concurrently, after a crash, for a day."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from apikit import COLOUR, QUEUE, START, TIDES, SetClock, dedicated, lore_files, open_test_store

from engram.adapters.state import key_table
from engram.domain.errors import ConflictError, StoreError, ValidationError
from engram.usecases.recording import idempotent_writes
from engram.usecases.recording import record as recording

ID, OTHER = "01KEZ6S41TSV4RRFFQ69G5FAVA", "01KEZ6S41TSV4RRFFQ69G5FAVB"


def test_of_many_concurrent_calls_with_one_key_only_one_records(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")

    def record(number: int) -> str:
        with open_test_store(root, clock=SetClock(START.replace(minute=number))) as store:
            together.wait(20)
            return store.record(QUEUE, category="fact", key="k").lore.id

    together = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(record, range(4)))) == 1
    assert len(lore_files(root)) == 1


def test_each_writing_call_with_a_key_is_done_once(root: Path) -> None:
    with open_test_store(root) as store:
        calls = [
            lambda: store.record(QUEUE, category="fact", key="1"),
            lambda: store.put(ID, TIDES, category="fact", key="2"),
            lambda: store.patch(ID, {"tags": ["a"], "expires_at": datetime(2031, 1, 1, tzinfo=UTC)}, key="3"),
            lambda: store.forget(ID, key="4"),
        ]
        answers = [call() for call in calls]
        files = {path: path.read_bytes() for path in lore_files(root)}
        assert [call() for call in calls] == answers
    with open_test_store(root) as store:
        assert store.record(QUEUE, category="fact", key="1") == answers[0]
        assert {path: path.read_bytes() for path in lore_files(root)} == files
        for key in ("1", "2", "3", "4"):
            with pytest.raises(ConflictError, match="another request"):
                store.record(COLOUR, category="fact", key=key)
        for key in ("k" * 201, "k\n", "schlüssel"):
            with pytest.raises(ValidationError):
                store.record(COLOUR, category="fact", key=key)


def test_a_call_interrupted_after_writing_is_found_when_it_is_repeated(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Raise as if the process ended here."""

    def killed(*_: object) -> None:
        raise Killed

    with open_test_store(root) as store, monkeypatch.context() as patched:
        patched.setattr(key_table.KeyTable, "finish", killed)
        with pytest.raises(Killed):
            store.record(QUEUE, category="fact", key="k")
    (file,) = lore_files(root)
    with open_test_store(root, clock=SetClock(START.replace(hour=9))) as store:
        again = store.record(QUEUE, category="fact", key="k")
        assert again.lore.id in file.name
        assert store.record(QUEUE, category="fact", key="k") == again
        assert lore_files(root) == [file]


def test_a_failed_call_may_be_repeated_with_its_key(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StoreError("The disk is full.")

    with open_test_store(root) as store:
        with pytest.raises(ValidationError):
            store.record("", category="fact", key="k")
        with monkeypatch.context() as patched:
            patched.setattr(recording.entry_writer, "write", full)
            with pytest.raises(StoreError):
                store.record(QUEUE, category="fact", key="k")
        assert store.record(QUEUE, category="fact", key="k").status == "recorded"


def test_keys_are_kept_for_a_day_and_their_number_is_limited(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_table, "MOST_KEYS", 50)
    clock = SetClock()
    with open_test_store(root, clock=clock) as store:
        table = idempotent_writes.key_table(store.store)
        for number in range(128):
            table.begin(f"k{number}", "asked", ID, clock.now().timestamp())
            table.finish(f"k{number}", "{}")
        assert table.count() == 50
        assert table.find("k127", clock.now().timestamp()).answer == "{}"
        first = store.record(QUEUE, category="fact", key="k")
        clock.advance(hours=25)
        again = store.record(QUEUE, category="fact", key="k")
        assert (first.status, again.status, again.lore.id) == ("recorded", "known", first.lore.id)
        assert table.count() == 1
