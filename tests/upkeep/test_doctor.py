"""Problems that `engram doctor` reports and repairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SECRET, open_test_store
from graph_kit import write_entity
from storekit import disk_full_after
from sync_kit import make_clones

from engram.domain.errors import SyncBlockedError
from engram.usecases.upkeep.doctor import doctor

if TYPE_CHECKING:
    from engram.app import Engram


def test_doctor_merges_an_entity_with_conflict_markers_of_git(root: Path) -> None:
    sides = [
        f"---\nname: ZooKeeper\naliases: [{alias}]\nupdated_at: 2026-03-0{day}T00:00:00Z\n---\n"
        for day, alias in ((1, "zk"), (2, "keeper"))
    ]
    write_entity(root, "zookeeper.md", f"<<<<<<< ours\n{sides[0]}=======\n{sides[1]}>>>>>>> theirs\n")
    with open_test_store(root) as engram:
        assert [one.kind for one in doctor(engram.store)] == ["file"]
        assert [one.fixed for one in doctor(engram.store, fix=True)] == [True]
        assert engram.entity("zk").aliases == ("keeper", "zk")


def test_on_a_full_disk_doctor_does_not_call_the_index_damaged(root: Path, engram: Engram) -> None:
    engram.record("The mill stands still at low tide.", category="FACT")
    (root / "lore" / "moon.md").write_text("The moon pulls the tides.\n")
    with disk_full_after(100):
        found = [one for one in doctor(engram.store) if one.kind == "index"]
    assert found
    assert not any("damaged" in one.message or "--fix" in one.hint for one in found), found
    assert "index" not in [one.kind for one in doctor(engram.store)]


def test_doctor_names_the_file_that_blocks_a_sync_and_the_next_step(tmp_path: Path) -> None:
    clones, lore_id = make_clones(tmp_path)
    a, b = clones["a"], clones["b"]
    path = a.get(lore_id).path
    clones.edit("b", path, "late", "too late")
    clones.sync("b")
    clones.edit("a", path, "late", SECRET)
    with pytest.raises(SyncBlockedError):
        clones.sync("a")
    (found,) = [one for one in doctor(a.store) if one.kind == "sync"]
    assert path in found.message
    assert "sync again" in found.hint
    clones.edit("a", path, SECRET, "late")
    clones.sync("a")
    assert [one for one in doctor(a.store) if one.kind == "sync"] == []
    assert b.get(lore_id).lore.content
