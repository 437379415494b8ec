"""Leftovers of killed processes in the private folder are removed after a day; used, recent and other files stay."""

from __future__ import annotations

import os
from pathlib import Path

from apikit import QUEUE, SetClock, dedicated, open_test_store

from engram.usecases.upkeep import leftovers

GOES = ("x.md.01A.engram-tmp", "index/.CURRENT.1", "tmp_obj_1", "deep/state.new")
GOES_WHOLE = (
    "rehearsal-1",
    "as-of/" + "a" * 40 + ".01KEZ6S41TSV4RRFFQ69G5FAVA",
    "index/generation-~",
    ".gone-1",
)
STAYS = ("notes.md", "worktree/lore/x.tmp", "as-of/" + "a" * 40 + "/x.md", "index/x.txt")


def test_temporary_files_and_folders_are_removed_after_a_day(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(dedicated(tmp_path / "s"), clock=clock) as store:
        store.record(QUEUE, category="fact")
        store.refresh()
        state = Path(store.store.places.state)
        before = {path for path in state.rglob("*") if path.is_file()}
        for name in (*GOES, *STAYS, *(f"{folder}/inside" for folder in GOES_WHOLE)):
            (state / name).parent.mkdir(parents=True, exist_ok=True)
            (state / name).write_text("x")
        made = clock.nanoseconds() - 23 * 3600 * 10**9
        for path in state.rglob("*"):
            os.utime(path, ns=(made, made))
        assert leftovers.find(store.store) == [], "somebody may be at work"
        clock.advance(hours=2)
        young = state / "young.tmp"
        young.write_text("x")
        os.utime(young, ns=(clock.nanoseconds(), clock.nanoseconds()))
        assert {*leftovers.find(store.store)} == {str(state / name) for name in (*GOES, *GOES_WHOLE)}
        assert leftovers.remove(store.store) == len(GOES) + len(GOES_WHOLE)
        left = {path for path in state.rglob("*") if path.is_file()}
        assert left >= before | {young} | {state / name for name in STAYS}
        assert leftovers.find(store.store) == []
        assert store.query("idempotent queue consumers").lore


def test_a_folder_with_recent_changes_is_not_removed(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(dedicated(tmp_path / "s"), clock=clock) as store:
        folder = Path(store.store.places.state, "rehearsal-2")
        folder.mkdir()
        (folder / "index").write_text("x")
        now = clock.nanoseconds()
        os.utime(folder / "index", ns=(now, now))
        os.utime(folder, ns=(0, 0))
        assert leftovers.find(store.store) == []
        clock.advance(hours=25)
        assert leftovers.find(store.store) == [str(folder)]
