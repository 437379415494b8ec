"""A file edited in place is sent by the next sync, however large the store: its folder's time does not change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, git, ok
from sync_kit import SOON, Clones, make_clones

import engram
from engram.usecases.index import freshness
from engram.usecases.store import sync_consent
from engram.usecases.sync import auto_sync
from engram.usecases.sync.sync import preview, sync
from tests.opening.test_branch_placement import BRANCH, hidden, made, record

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every store counts as large, so that questions are answered before all files are checked."""
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", -1)
    monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", -1)


@pytest.fixture
def clones(tmp_path: Path, large: None) -> Clones:
    """Clones a and b with one entry, whose files and folders were last changed an hour ago."""
    found = make_clones(tmp_path)[0]
    indexed_long_ago(found["a"])
    return found


def indexed_long_ago(store: Engram) -> None:
    """Date the files back and read them again: what was changed within two seconds is read again in any case."""
    past = store.store.clock.nanoseconds() - 3600 * 10**9
    for place, _, names in os.walk(os.path.join(store.path, "lore"), topdown=False):
        for name in (*names, "."):
            os.utime(os.path.join(place, name), ns=(past, past))
    store.refresh()


def edit_in_place(root: Path) -> str:
    """Add a line to a file of the store; returns its path in the store."""
    file = next((root / "lore").rglob("*.md"))
    with file.open("a", encoding="utf-8") as opened:
        opened.write("Edited in place.\n")
    return file.relative_to(root).as_posix()


def test_a_file_edited_in_place_in_a_large_store_is_pushed_by_the_next_sync(clones: Clones) -> None:
    path = edit_in_place(clones.root("a"))
    assert clones.sync("a")[0].pushed == 1
    assert git(clones.hub, "show", f"main:{path}").endswith("Edited in place.")
    assert clones.sync("b")[0].pulled == 1
    clones.assert_equal()


def test_an_automatic_sync_of_a_large_store_pushes_a_file_edited_in_place(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENGRAM_SYNC_SECONDS")
    sync_consent.grant(clones["a"].store, "origin")
    path = edit_in_place(clones.root("a"))
    done = auto_sync.sync_now(clones["a"].store)
    assert done is not None
    assert done.pushed == 1
    assert git(clones.hub, "show", f"main:{path}").endswith("Edited in place.")


def test_status_and_a_preview_count_a_file_edited_in_place_as_waiting(clones: Clones) -> None:
    before = git(clones.root("a"), "rev-parse", "HEAD")
    assert preview(clones["a"].store, SOON).waiting == 0
    edit_in_place(clones.root("a"))
    assert preview(clones["a"].store, SOON).waiting == 1
    assert clones["a"].status()["git"]["pending"] == 1  # type: ignore[index]
    assert git(clones.root("a"), "rev-parse", "HEAD") == before
    assert sync(clones["a"].store, SOON).pushed == 1
    assert preview(clones["a"].store, SOON).waiting == 0


def test_an_edit_is_pushed_while_another_process_has_the_index(clones: Clones) -> None:
    from engram.adapters.files.durable.lock import FileLock

    path = edit_in_place(clones.root("a"))
    store = clones["a"].store
    lock = FileLock(os.path.join(store.index.folder, "writer.lock"))
    assert lock.try_acquire()
    try:
        assert sync(store, SOON).pushed == 1
    finally:
        lock.release()
    assert git(clones.hub, "show", f"main:{path}").endswith("Edited in place.")


@pytest.mark.usefixtures("large")
def test_a_file_edited_in_place_on_the_branch_of_a_code_repository_is_pushed(tmp_path: Path) -> None:
    code = made(tmp_path / "code")
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    git(code, "remote", "add", "origin", str(tmp_path / "hub.git"))
    record(code, QUEUE)
    ok("sync", cwd=code)
    with engram.open(code, background=False) as opened:
        indexed_long_ago(opened)
    path = edit_in_place(hidden(code))
    assert ok("sync", "--json", cwd=code).json["pushed"] == 1
    assert git(tmp_path / "hub.git", "show", f"{BRANCH}:{path}").endswith("Edited in place.")


@pytest.mark.slow
def test_sync_finds_an_edit_in_place_among_more_entries_than_a_command_looks_at(tmp_path: Path) -> None:
    clones = make_clones(tmp_path)[0]
    folder = clones.root("a") / "lore/many"
    folder.mkdir()
    for number in range(freshness.COLD_SWEEP_LIMIT + 100):
        (folder / f"{number}.md").write_text(f"# Lesson {number}\n", "utf-8")
    indexed_long_ago(clones["a"])
    assert clones.sync("a")[0].pushed == freshness.COLD_SWEEP_LIMIT + 100
    with (folder / "17.md").open("a", encoding="utf-8") as file:
        file.write("Edited in place.\n")
    assert sync(clones["a"].store, SOON).pushed == 1
    assert git(clones.hub, "show", "main:lore/many/17.md").endswith("Edited in place.")
