"""File locks: one holder at a time, across threads and processes; a holder that dies releases its lock."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import StoreError


def test_one_object_at_a_time_holds_a_lock_until_it_releases_it(tmp_path: Path) -> None:
    one, other = (FileLock(str(tmp_path / "lock"), timeout=0) for _ in range(2))
    assert one.try_acquire()
    assert (one.held, other.try_acquire(), other.held) == (True, False, False)
    assert not other.acquire(0.01)
    with pytest.raises(StoreError, match="Another process has held lock"), other:
        pass
    one.release()
    one.release()
    with other:
        assert (one.held, other.held, one.try_acquire()) == (False, True, False)
    assert one.try_acquire()
    one.release()


def test_a_dying_process_releases_its_lock(tmp_path: Path) -> None:
    ready, says = os.pipe()
    child = os.fork()
    if not child:
        os.write(says, b"1" if FileLock(str(tmp_path / "lock")).try_acquire() else b"0")
        while True:
            signal.pause()
    lock = FileLock(str(tmp_path / "lock"))
    try:
        assert os.read(ready, 1) == b"1"
        assert not lock.try_acquire()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(says)
    with lock:
        assert lock.held


def test_a_folder_at_the_path_of_a_lock_is_moved_aside_and_a_missing_parent_is_an_error(
    tmp_path: Path,
) -> None:
    (tmp_path / "lock").mkdir()
    with FileLock(str(tmp_path / "lock")) as lock:
        assert lock.held
    assert (tmp_path / "lock.damaged").is_dir()
    with pytest.raises(StoreError), FileLock(str(tmp_path / "nowhere/lock")):
        pass
