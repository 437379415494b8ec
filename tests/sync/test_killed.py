"""`kill -9` in the middle of a sync: the next one finishes it; nothing is lost and no vote is counted twice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from effort import is_thorough, sampled
from storekit import assert_settled, commit, run
from sync_kit import KILLED_SYNC, SOON, Clones, copy_clones, files, open_test_store

from engram.usecases.store.commit import commit_pending
from engram.usecases.store.store import Clock
from engram.usecases.sync.sync import sync


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return two clones with changes, the second one not synced yet, and the ids of their entries."""
    folder = tmp_path_factory.mktemp("scene")
    clones = Clones(folder)
    lore = {
        name: clones.record("a", f"Lesson {name}.\n\nWith a second paragraph.").id for name in ("v", "t", "d")
    }
    clones.settle()
    for name in "ab":
        clones[name].feedback(helpful=[lore["v"]])
    clones.edit("a", clones["a"].get(lore["t"]).path, "Lesson t", "A lesson t")
    clones.edit("b", clones["b"].get(lore["t"]).path, "second", "good second")
    clones["a"].forget(lore["d"])
    lore |= {"a": clones.record("a", "Only a.").id, "b": clones.record("b", "Only b.").id}
    clones.sync("a")
    commit(clones["b"])
    for name in "ab":
        clones[name].store.close()
    return folder, lore


def finished(folder: Path, lore: dict[str, str]) -> None:
    """Check that after the next syncs all clones are equal and have everything once."""
    first, second = (open_test_store(folder / name, Clock(), name) for name in "ab")
    for store in (second, first, second):
        assert sync(store.store, SOON).errors == ()
    assert files(folder / "a") == files(folder / "b")
    found = {shown.lore.id: shown.lore for shown in second.list(limit=None).lore}
    assert set(found) == {lore[name] for name in ("v", "t", "a", "b")}
    judged = second.get(lore["v"]).lore.tally
    assert judged is not None
    assert (judged.full, judged.validation_count) == (860, 2), "what has faded since, aside"
    assert found[lore["t"]].content == "A lesson t.\n\nWith a good second paragraph."
    assert all(one.conflicts == () for one in found.values())
    for name in "ab":
        assert_settled(folder / name)


# Every day one step of each part is tried, with `--thorough` all of them, dealt out.
SHARES = (0.3, 0.58, 0.75, 0.9)


@pytest.mark.slow
@sampled("part", range(len(SHARES)), 2)
def test_a_killed_sync_is_finished_by_the_next(
    scene: tuple[Path, dict[str, str]], tmp_path: Path, part: int, total: int
) -> None:
    every = range(part + 1, total + 1, len(SHARES))
    for step in every if is_thorough() else [round(total * SHARES[part])]:
        folder = copy_clones(scene[0], tmp_path / f"killed-at-{step}")
        done = run(KILLED_SYNC, folder / "b", step)
        # Two threads share the work, so that one run has a few points more than another.
        is_killed = done.returncode == -signal.SIGKILL
        assert is_killed or (done.returncode == 0 and step > 0.9 * total), (step, done.stderr.decode())
        finished(folder, scene[1])


@pytest.mark.slow
def test_after_a_kill_any_other_command_may_come_first(
    scene: tuple[Path, dict[str, str]], tmp_path: Path, total: int
) -> None:
    folder = copy_clones(scene[0], tmp_path / "x")
    run(KILLED_SYNC, folder / "b", round(total * 0.6))
    store = open_test_store(folder / "b", Clock(), "other")
    store.feedback(helpful=[scene[1]["t"]])
    commit_pending(store.store, wait=30)
    store.store.close()
    for name in "bab":
        assert sync(open_test_store(folder / name, Clock(), name).store, SOON).errors == ()
    assert files(folder / "a") == files(folder / "b")
    found = open_test_store(folder / "a", Clock(), "a")
    assert found.get(scene[1]["v"]).lore.validation_count == 2
    assert found.get(scene[1]["t"]).lore.validation_count == 1


@pytest.fixture(scope="module")
def total(scene: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> int:
    """Return the number of points at which a sync of this scene can be killed."""
    folder = copy_clones(scene[0], tmp_path_factory.mktemp("whole") / "x")
    done = run(KILLED_SYNC, folder / "b", 0)
    count, pulled, pushed = map(int, done.stdout.split())
    assert (pulled, pushed) == (3, 2), done.stderr.decode()
    finished(folder, scene[1])
    return count
