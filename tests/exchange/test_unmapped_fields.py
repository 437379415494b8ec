"""Unmapped keys stay in the entry and are reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import import_path, open_test_store

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path / "store")


def test_unmapped_keys_stay_in_the_entry_and_are_reported(store: Engram, tmp_path: Path) -> None:
    said = {"agent": "bot", "author": "Ada", "ticket": "OPS-7", "id": "m1", "path": "a/b", "c d": 1, "c_d": 2}
    path = tmp_path / "export.json"
    path.write_text(
        json.dumps([{"text": "Tea is drunk at four", "updated_at": "2025-01-02", **said}]), "utf-8"
    )
    done = import_path(store, path)
    names = {"ticket", "imported_id", "path", "imported_updated_at", "c_d", "c_d_"}
    assert {(one.what, one.where) for one in done.left_out} == {
        (f"`{name}`", "kept as a property of the entry's file") for name in names
    }
    file = (Path(store.path) / store.list().lore[0].path).read_text("utf-8")
    for line in ("ticket: OPS-7", "imported_id: m1", "path: a/b", "c_d: 1", "c_d_: 2"):
        assert line in file.splitlines()
    assert store.list().lore[0].lore.author == "Ada"
