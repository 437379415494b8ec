"""Put, patch, keys and the list of changes in Python: nothing twice, nothing over what somebody else wrote, nothing left out."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from apikit import COLOUR, QUEUE, START, TIDES, SetClock, dedicated, git, lore_files, opened, plain

import engram
from engram.adapters.state import feed_table, key_table
from engram.adapters.state.trust_tables import QuarantinedText
from engram.domain.entry.lore import searchable, text_digest
from engram.domain.errors import (
    ConflictError,
    CursorGoneError,
    NotFoundError,
    StaleError,
    StoreError,
    ValidationError,
)
from engram.usecases.recording import idempotent_writes
from engram.usecases.recording import record as recording
from engram.usecases.store import entry_writer
from engram.usecases.store.commit import commit_quietly

ID, OTHER = "01KEZ6S41TSV4RRFFQ69G5FAVA", "01KEZ6S41TSV4RRFFQ69G5FAVB"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plain(tmp_path / "store")


# --- put and patch


def test_a_put_lore_is_the_same_as_a_recorded_one(root: Path) -> None:
    with opened(root) as store:
        recorded = store.record(QUEUE, category="fact", tags=["a"], context="Here").lore
        put = store.put(ID, TIDES, category="fact", tags=["a"], context="Here").shown.lore
        assert put._replace(id="", content="", created_at=START, updated_at=START) == recorded._replace(
            id="", content="", created_at=START, updated_at=START
        )
        assert (put.created_at.year, put.updated_at) == (2026, START.replace(microsecond=0))
        assert store.get(ID).path.startswith("lore/2026/01/14/")


def test_a_put_is_never_folded_into_another_lore_and_still_waits_for_review(root: Path) -> None:
    settings = '[store]\nfolder = "lore"\n\n[review]\nagents = "pending"\n'
    with opened(root, settings=settings) as store:
        first = store.put(ID, QUEUE, category="fact")
        second = store.put(OTHER, QUEUE, category="fact")
        assert (first.shown.lore.status, second.shown.lore.id, second.created) == ("pending", OTHER, True)
        assert first.pending == second.pending != ""
        again = store.put(ID, QUEUE, category="fact")
        assert (again.shown.lore.status, again.shown.digest) == ("pending", first.shown.digest)
        assert store.put(ID, QUEUE, category="fact", status="active").shown.lore.status == "pending"
    with opened(root, agent="human") as person:
        assert person.put(ID, QUEUE, category="fact", status="active").shown.lore.status == "active"


def test_a_refused_put_or_patch_changes_nothing(root: Path) -> None:
    with opened(root) as store:
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


def test_of_many_who_put_a_new_id_at_once_one_makes_it(tmp_path: Path) -> None:
    """Each with a store of its own, as processes have them, and a title of its own, so a path of its own."""
    root = dedicated(tmp_path / "store")

    def put(number: int) -> bool:
        with opened(root, clock=SetClock(START.replace(minute=number))) as store:
            together.wait(20)
            return store.put(ID, f"Number {number} was here.", category="fact").created

    together = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(put, range(4))) == [False, False, False, True]
    assert len(lore_files(root)) == 1


def test_of_many_calls_with_one_key_at_once_one_records(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")

    def record(number: int) -> str:
        with opened(root, clock=SetClock(START.replace(minute=number))) as store:
            together.wait(20)
            return store.record(QUEUE, category="fact", key="k").lore.id

    together = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(record, range(4)))) == 1
    assert len(lore_files(root)) == 1


def test_an_id_that_was_deleted_can_be_put_again(root: Path) -> None:
    with opened(root) as store:
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


# --- keys


def test_each_writing_call_with_a_key_is_done_once(root: Path) -> None:
    with opened(root) as store:
        calls = [
            lambda: store.record(QUEUE, category="fact", key="1"),
            lambda: store.put(ID, TIDES, category="fact", key="2"),
            lambda: store.patch(ID, {"tags": ["a"], "expires_at": datetime(2031, 1, 1, tzinfo=UTC)}, key="3"),
            lambda: store.forget(ID, key="4"),
        ]
        answers = [call() for call in calls]
        files = {path: path.read_bytes() for path in lore_files(root)}
        assert [call() for call in calls] == answers
    with opened(root) as store:
        assert store.record(QUEUE, category="fact", key="1") == answers[0]
        assert {path: path.read_bytes() for path in lore_files(root)} == files
        for key in ("1", "2", "3", "4"):
            with pytest.raises(ConflictError, match="another request"):
                store.record(COLOUR, category="fact", key=key)
        for key in ("k" * 201, "k\n", "schlüssel"):
            with pytest.raises(ValidationError):
                store.record(COLOUR, category="fact", key=key)


def test_a_call_that_was_cut_off_after_writing_is_found_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """As if the process ended here."""

    def killed(*_: object) -> None:
        raise Killed

    with opened(root) as store, monkeypatch.context() as patched:
        patched.setattr(key_table.KeyTable, "finish", killed)
        with pytest.raises(Killed):
            store.record(QUEUE, category="fact", key="k")
    (file,) = lore_files(root)
    with opened(root, clock=SetClock(START.replace(hour=9))) as store:
        again = store.record(QUEUE, category="fact", key="k")
        assert again.lore.id in file.name
        assert store.record(QUEUE, category="fact", key="k") == again
        assert lore_files(root) == [file]


def test_a_call_that_failed_may_be_tried_again_with_its_key(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("The disk is full.")

    with opened(root) as store:
        with pytest.raises(ValidationError):
            store.record("", category="fact", key="k")
        with monkeypatch.context() as patched:
            patched.setattr(recording.entry_writer, "write", full)
            with pytest.raises(StoreError):
                store.record(QUEUE, category="fact", key="k")
        assert store.record(QUEUE, category="fact", key="k").status == "recorded"


def test_keys_are_kept_for_a_day_and_never_without_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_table, "MOST_KEYS", 50)
    clock = SetClock()
    with opened(root, clock=clock) as store:
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


# --- what changed


def test_every_kind_of_change_is_told_once_and_in_order(root: Path) -> None:
    with opened(root, clock=(clock := SetClock())) as store:
        start = store.delta()
        assert (start.lore, start.deleted_ids, start.more) == ((), (), False)
        made = [store.record(text, category="fact").lore.id for text in (QUEUE, COLOUR, TIDES)]
        first = store.delta(start.cursor)
        assert ([one.lore.id for one in first.lore], first.created_ids) == (made, tuple(made))
        assert store.delta(first.cursor)[:3] == ((), (), ())
        clock.advance(days=1)
        store.patch(made[2], {"tags": "x"})
        store.forget(made[1])
        (root / "lore" / "dropped.md").write_text(f"---\nid: {ID}\n---\n\nDropped into the folder.\n")
        told = store.delta(first.cursor)
        assert {one.lore.id for one in told.lore} == {made[2], ID}
        assert (told.created_ids, told.deleted_ids) == ((ID,), (made[1],))
        assert all(one.digest == store.get(one.lore.id).digest for one in told.lore)
        assert store.delta(told.cursor)[:3] == ((), (), ())


def test_the_cursor_outlives_a_restart_a_new_index_and_files_that_break(root: Path) -> None:
    with opened(root) as store:
        made = [store.record(text, category="fact").lore.id for text in (QUEUE, COLOUR, TIDES)]
        paths = {one: root / store.get(one).path for one in made}
        cursor = store.delta().cursor
    whole = paths[made[0]].read_bytes()
    paths[made[0]].write_text("---\nid: [broken\n---\n")
    paths[made[1]].unlink()
    with opened(root, clock=SetClock(START.replace(day=6))) as store:
        store.store.index.mark_damaged("for the test")
        told = store.delta(cursor)
        assert (told.lore, told.deleted_ids) == ((), (made[1],)), (
            "who deletes while the index is made anew is noticed"
        )
        paths[made[0]].write_bytes(whole)
        assert store.delta(told.cursor)[:3] == ((), (), ()), "what was broken is as it was"
        assert store.delta(cursor).deleted_ids == (made[1],), "an old cursor says it again"


def test_what_cannot_be_read_just_now_is_told_later(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> None:
        raise StoreError("It cannot be read just now.")

    with opened(root) as store:
        made = [store.record(text, category="fact").lore.id for text in (QUEUE, TIDES)]
        store.delta()
        store.patch(made[0], {"tags": "a"})
        cursor = store.delta().cursor.partition("-")[0] + "-2"
        with monkeypatch.context() as patched:
            patched.setattr(entry_writer, "load", unreadable)
            told = store.delta(cursor)
            assert told[:3] == ((), (), ())
        again = store.delta(told.cursor)
        assert ([one.lore.id for one in again.lore], again.created_ids) == ([made[0]], ())
        assert store.delta(again.cursor)[:3] == ((), (), ())


def test_the_changes_come_in_parts(root: Path) -> None:
    with opened(root) as store:
        made = {
            store.record(f"{text} {number}", category="fact").lore.id
            for number in range(4)
            for text in (QUEUE, TIDES)
        }
        found, cursor, more = [], "", True
        while more:
            told = store.delta(cursor, limit=3)
            cursor, more = told.cursor, told.more
            found += [one.lore.id for one in told.lore]
        assert (len(found), set(found)) == (8, made)
        with pytest.raises(engram.EngramError):
            store.delta(limit=0)


def test_what_a_pull_brings_is_told_however_old_it_is(tmp_path: Path) -> None:
    ours, theirs = dedicated(tmp_path / "ours"), tmp_path / "theirs"
    with opened(ours, clock=SetClock(START.replace(year=2020))) as store:
        old = store.record(QUEUE, category="fact").lore.id
        commit_quietly(store.store)
    git(tmp_path, "clone", "-q", str(ours), str(theirs))
    with opened(theirs) as store:
        cursor = store.delta().cursor
    with opened(ours, clock=SetClock(START.replace(year=2020, month=4))) as store:
        store.record(TIDES, category="fact")
        store.forget(old)
        commit_quietly(store.store)
    git(theirs, "pull", "-q")
    for path in lore_files(theirs):
        os.utime(path, (1.6e9, 1.6e9))  # as rsync and some checkouts leave it
    with opened(theirs, clock=SetClock(START.replace(day=6))) as store:
        told = store.delta(cursor)
        assert ([one.lore.content for one in told.lore], told.deleted_ids) == ([TIDES], (old,))


def test_a_text_that_waits_is_told_when_it_is_accepted(root: Path, home: Path) -> None:
    (home / ".config/engram").mkdir(parents=True)
    (home / ".config/engram/config.toml").write_text('[trust]\nhold = "foreign"\n')
    with opened(root) as store:
        known = store.put(ID, QUEUE, category="fact").shown.lore
        before = store.delta()
        changed = store.patch(ID, {"tags": ["other"]}).lore
        new = store.record(TIDES, category="fact").lore
        rows = [
            QuarantinedText(one.id, text_digest(searchable(one)), "", "foreign", 0.0)
            for one in (changed, new)
        ]
        store.store.state.trust.quarantine(rows)
        while_waiting = store.delta(before.cursor)
        assert while_waiting[:3] == ((), (), ()), "neither the new lore nor what became of the known one"
        store.accept(everything=True)
        told = store.delta(while_waiting.cursor)
        assert {one.lore.id for one in told.lore} == {known.id, new.id}
        assert told.created_ids == (new.id,)


def test_two_clones_that_put_one_id_end_with_one_lore(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    ours, theirs = dedicated(tmp_path / "ours"), tmp_path / "theirs"
    with opened(ours) as store:
        store.record(TIDES, category="fact")
        store.add_remote("origin", str(tmp_path / "remote.git"))
        store.sync()
    git(tmp_path, "clone", "-q", "remote.git", "theirs")
    with opened(ours) as one, opened(theirs, clock=SetClock(START.replace(hour=9))) as other:
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


def test_a_cursor_of_another_list_or_too_old_a_one_is_gone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_table, "MOST_GONE", 2)
    with opened(root) as store:
        name, _, number = store.delta().cursor.partition("-")
        made = [store.record(f"{text} {number}", category="fact").lore.id for text in (QUEUE, COLOUR, TIDES)]
        cursor = store.delta().cursor
        for one in made:
            store.forget(one)
            store.delta()
        assert len(store.delta().deleted_ids) == 2
        for lost in (f"ZZZZZZZZ-{number}", f"{name}-{number}", f"{name}-99999", cursor):
            with pytest.raises(CursorGoneError) as caught:
                store.delta(lost)
            assert isinstance(caught.value, NotFoundError)
        for wrong in ("yesterday", "ZZZZ-1", f"{name}-"):
            with pytest.raises(ValidationError):
                store.delta(wrong)


def test_a_time_serves_too(root: Path) -> None:
    clock = SetClock()
    with opened(root, clock=clock) as store:
        first = store.record(QUEUE, category="fact").lore.id
        store.delta()
        clock.advance(hours=1)
        store.forget(first)
        clock.advance(hours=1)
        second = store.record(TIDES, category="fact").lore.id
        told = store.delta(clock.now())
        assert ([one.lore.id for one in told.lore], told.deleted_ids) == ([second], (first,)), "noticed now"
        clock.advance(hours=1)
        assert store.delta(clock.now())[:3] == ((), (), ())
        assert store.delta("2026-01-01")[0] == told.lore
        with pytest.raises(engram.EngramError, match="future"):
            store.delta("2999-01-01T00:00:00Z")
