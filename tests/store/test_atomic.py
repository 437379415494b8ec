"""Temporary files of killed writers go, and those of living ones stay."""

from __future__ import annotations

import os
from pathlib import Path

from storekit import open_test_store

from engram.adapters.files.durable import atomic


def test_temporaries_of_killed_writers_are_deleted_by_the_next_scan_and_others_stay(
    tmp_path: Path,
) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        left = root / "lore" / ".lore.md.01M80FCAY0000000000000000J.engram-tmp"
        left.write_text("half")
        with engram.store.files.lock():
            engram.refresh()
            assert left.exists()
        engram.refresh()
        assert not left.exists()


def test_a_temporary_of_a_killed_process_with_the_same_id_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "source"
    atomic.prepare(str(file), b"half", f"source-{os.getpid()}")
    atomic.write(str(file), b"whole", "source")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
