"""After changes in very many folders, as by a large sync, differences are found in another way with the same result."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SetClock
from prepared import dedicated

from engram.usecases.index import file_scan
from engram.usecases.index.refresh import refresh
from engram.usecases.opening.open_store import open_store
from engram.usecases.store.store import Caller

if TYPE_CHECKING:
    from engram.usecases.index.file_scan import Delta
    from engram.usecases.store.store import Store

FOLDERS = file_scan.MANY_FOLDERS + 5
LONG_AGO = (1_700_000_000, 1_700_000_000)


def folder(root: Path, number: int) -> Path:
    return root / "lore" / "2024" / f"{number:02d}"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Make two entries in each of many folders, all of them indexed and settled."""
    root = dedicated(tmp_path / "store")
    for number in range(FOLDERS):
        folder(root, number).mkdir(parents=True)
        for name in ("one.md", "two.md"):
            (folder(root, number) / name).write_text(f"Lore {name} of folder {number}.\n", "utf-8")
            os.utime(folder(root, number) / name, LONG_AGO)
        os.utime(folder(root, number), LONG_AGO)
    opened = open_store(str(root), Caller("test", "test"), clock=SetClock())
    assert refresh(opened).added == 2 * FOLDERS
    return opened


def change_all_sorts(root: Path) -> set[str]:
    """What a person may do in a folder; the paths of it, all else is as it was."""
    two = [folder(root, number) / "two.md" for number in range(8)]
    two[0].write_text("Longer than it was before, and another text.\n", "utf-8")
    text = two[1].read_text("utf-8").upper()
    two[1].write_text(text, "utf-8")
    os.utime(two[1], LONG_AGO)  # as long and as old as it was: only the inode tells
    two[2].unlink()
    two[3].with_name("three.md").write_text("A new one.\n", "utf-8")
    two[4].rename(two[4].with_name("four.md"))
    two[5].unlink()
    two[5].symlink_to(two[6])
    shutil.rmtree(two[7].parent)
    (folder(root, 99)).mkdir()
    (folder(root, 99) / "one.md").write_text("In a new folder.\n", "utf-8")
    touched = (
        "00/two",
        "01/two",
        "02/two",
        "03/three",
        "04/two",
        "04/four",
        "05/two",
        "07/one",
        "07/two",
        "99/one",
    )
    return {f"lore/2024/{name}.md" for name in touched}


def found(store: Store, *files: str) -> Delta:
    generation = store.index.look()
    assert generation is not None
    return file_scan.scan_folders(store, generation, store.clock.nanoseconds(), (), files)


def touch_all(root: Path, *left_out: int) -> None:
    for number in {*range(FOLDERS)}.difference(left_out):
        os.utime(folder(root, number), (1_700_000_009, 1_700_000_009))


def test_both_ways_of_scanning_find_the_same_differences(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched = change_all_sorts(Path(store.places.root))
    touch_all(Path(store.places.root), 7)  # to write into a file moves no time but its own
    quick = found(store)
    assert {*quick.files, *quick.gone, *quick.scan_problems} == touched
    assert quick.gone_folders == ["lore/2024/07"]
    assert len(quick.folders) >= FOLDERS - 1
    monkeypatch.setattr(file_scan, "MANY_FOLDERS", 1000)
    other = found(store)
    assert quick._replace(known={}) == other._replace(known={})
    assert all(quick.known.get(path) == other.known.get(path) for path in touched)


def test_files_in_folders_that_are_not_read_do_not_count_as_deleted(store: Store) -> None:
    root = Path(store.places.root)
    touch_all(root, FOLDERS - 1)
    (folder(root, FOLDERS - 1) / "two.md").write_text(
        "Longer than it was before, and another text.\n", "utf-8"
    )
    (folder(root, 0) / "two.md").unlink()
    delta = found(store)
    assert (delta.files, delta.gone, delta.gone_folders) == ({}, ["lore/2024/00/two.md"], [])
    assert len(delta.folders) == FOLDERS - 1


def test_a_file_changed_too_recently_to_trust_its_time_is_read_again(store: Store) -> None:
    path = folder(Path(store.places.root), 3) / "two.md"
    path.write_text("Written just now.\n", "utf-8")
    moment = int(store.clock.now().timestamp())
    os.utime(path, (moment, moment))
    assert refresh(store, thorough=True).changed == 1
    touch_all(Path(store.places.root))
    assert list(found(store).files) == ["lore/2024/03/two.md"]


def test_a_reported_but_unchanged_file_is_not_read_again(store: Store) -> None:
    touch_all(Path(store.places.root))
    assert found(store, "lore/2024/03/two.md").files == {}


def test_unchanged_files_behind_a_symlink_count_as_deleted(store: Store) -> None:
    root = Path(store.places.root)
    touch_all(root)
    (root / "lore" / "2024").rename(root / "elsewhere")
    (root / "lore" / "2024").symlink_to(root / "elsewhere")
    delta = found(store)
    assert (delta.files, len(delta.gone)) == ({}, 2 * FOLDERS)
