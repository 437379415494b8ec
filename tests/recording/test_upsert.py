"""Put and patch in Python: no lost updates, and one entry from many concurrent puts."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from apikit import QUEUE, START, TIDES, SetClock, dedicated, git, lore_files, open_test_store

from engram.domain.errors import StaleError, ValidationError

ID, OTHER = "01KEZ6S41TSV4RRFFQ69G5FAVA", "01KEZ6S41TSV4RRFFQ69G5FAVB"


def test_a_put_entry_is_the_same_as_a_recorded_one(root: Path) -> None:
    with open_test_store(root) as store:
        recorded = store.record(QUEUE, category="fact", tags=["a"], context="Here").lore
        put = store.put(ID, TIDES, category="fact", tags=["a"], context="Here").shown.lore
        assert put._replace(id="", content="", created_at=START, updated_at=START) == recorded._replace(
            id="", content="", created_at=START, updated_at=START
        )
        assert (put.created_at.year, put.updated_at) == (2026, START.replace(microsecond=0))
        assert store.get(ID).path.startswith("lore/2026/01/14/")


def test_a_put_is_never_folded_into_another_entry_and_still_waits_for_review(root: Path) -> None:
    settings = '[store]\nfolder = "lore"\n\n[review]\nagents = "pending"\n'
    with open_test_store(root, settings=settings) as store:
        first = store.put(ID, QUEUE, category="fact")
        second = store.put(OTHER, QUEUE, category="fact")
        assert (first.shown.lore.status, second.shown.lore.id, second.created) == ("pending", OTHER, True)
        assert first.pending == second.pending != ""
        again = store.put(ID, QUEUE, category="fact")
        assert (again.shown.lore.status, again.shown.digest) == ("pending", first.shown.digest)
        assert store.put(ID, QUEUE, category="fact", status="active").shown.lore.status == "pending"
    with open_test_store(root, agent="human") as person:
        assert person.put(ID, QUEUE, category="fact", status="active").shown.lore.status == "active"


def test_a_refused_put_or_patch_changes_nothing(root: Path) -> None:
    with open_test_store(root) as store:
        shown = store.put(ID, QUEUE, category="fact", tags=["a"]).shown
        for changes in (
            {"tags": "b", "content": ""},
            {"tags": 7},
            {"nothing": 1},
            {"importance": 2},
            {"category": None},
        ):
            with pytest.raises(ValidationError):
                store.patch(ID, changes)
        with pytest.raises(ValidationError):
            store.put(ID, QUEUE, category="fact", importance=2.0)
        for digest in ("0" * 32, "nonsense"):
            with pytest.raises(StaleError) as caught:
                store.patch(ID, {"tags": "b"}, digest=digest)
            assert caught.value.current == shown.digest
            with pytest.raises(StaleError):
                store.forget(ID, digest=digest)
        assert store.get(ID)._replace(counted=None) == shown


def test_of_many_concurrent_puts_of_a_new_id_only_one_creates_it(tmp_path: Path) -> None:
    """Each caller has its own store, as processes do, and its own title, so its own path."""
    root = dedicated(tmp_path / "store")

    def put(number: int) -> bool:
        with open_test_store(root, clock=SetClock(START.replace(minute=number))) as store:
            together.wait(20)
            return store.put(ID, f"Number {number} was here.", category="fact").created

    together = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(put, range(4))) == [False, False, False, True]
    assert len(lore_files(root)) == 1


def test_an_id_that_was_deleted_can_be_put_again(root: Path) -> None:
    with open_test_store(root) as store:
        store.put(ID, QUEUE, category="fact")
        cursor = store.delta().cursor
        (gone,) = store.forget(ID, digest=store.get(ID).digest)
        told = store.delta(cursor)
        assert (gone.lore.id, told.deleted_ids) == (ID, (ID,))
        assert store.put(ID, TIDES, category="fact", new=True).created
        told = store.delta(told.cursor)
        assert ([one.lore.content for one in told.lore], told.created_ids, told.deleted_ids) == (
            [TIDES],
            (ID,),
            (),
        )


def test_two_clones_that_put_one_id_end_with_one_entry(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    ours, theirs = dedicated(tmp_path / "ours"), tmp_path / "theirs"
    with open_test_store(ours) as store:
        store.record(TIDES, category="fact")
        store.add_remote("origin", str(tmp_path / "remote.git"))
        store.sync()
    git(tmp_path, "clone", "-q", "remote.git", "theirs")
    with (
        open_test_store(ours) as one,
        open_test_store(theirs, clock=SetClock(START.replace(hour=9))) as other,
    ):
        cursors = [one.delta().cursor, other.delta().cursor]
        one.put(ID, "Alpha says this.", category="fact")
        other.put(ID, "Beta says that.", category="fact")
        for store in (one, other, one):
            assert store.sync().errors == ()
        found = [store.get(ID) for store in (one, other)]
        assert found[0].digest == found[1].digest
        assert [len(lore_files(root)) for root in (ours, theirs)] == [2, 2]
        for store, cursor in zip((one, other), cursors, strict=True):
            assert [told.digest for told in store.delta(cursor).lore] == [found[0].digest]
