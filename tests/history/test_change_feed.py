"""The change feed reports each change once and in order, so that a program that follows it has a copy of the store."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from apikit import (
    COLOUR,
    QUEUE,
    START,
    TIDES,
    SetClock,
    dedicated,
    git,
    lore_files,
    make_plain_store,
    open_test_store,
)
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import engram
from engram.adapters.state import feed_table
from engram.adapters.state.trust_tables import QuarantinedText
from engram.domain.entry.lore import searchable, text_digest
from engram.domain.errors import CursorGoneError, NotFoundError, StoreError, ValidationError
from engram.usecases.store import entry_writer
from engram.usecases.store.commit import commit_quietly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.app import Engram

DEEDS = (
    "record",
    "patch",
    "forget",
    "by hand",
    "delete file",
    "move file",
    "break file",
    "new index",
    "restart",
    "touch",
)


class Step(NamedTuple):
    deed: str
    which: int
    asks: bool
    limit: int | None


STEPS = st.lists(
    st.builds(Step, st.sampled_from(DEEDS), st.integers(0, 5), st.booleans(), st.sampled_from([None, 1, 3])),
    min_size=4,
    max_size=12,
)


class Copy:
    """The copy kept by a program that follows the changes: content and tags by id."""

    def __init__(self) -> None:
        self.lore: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.cursor = ""

    def follow(self, store: Engram, limit: int | None) -> None:
        more = True
        while more:
            changes = store.delta(self.cursor, limit)
            for shown in changes.lore:
                assert (shown.lore.id in changes.created_ids) or shown.lore.id in self.lore, (
                    "a new entry that was not reported as created"
                )
                self.lore[shown.lore.id] = shown.lore.content, shown.lore.tags
            for gone in changes.deleted_ids:
                self.lore.pop(gone, None)
            self.cursor, more = changes.cursor, changes.more


def do(store: Engram, root: Path, step: Step, number: int) -> None:
    """Change the store, or its files behind its back."""
    files = [path for path in lore_files(root) if b"[broken" not in path.read_bytes()]
    file = files[step.which % len(files)] if files else None
    if step.deed == "record" or file is None:
        store.record(f"The store learned thing number {number} just now.", category="fact")
    elif step.deed == "patch":
        store.patch(file.stem[-26:], {"tags": [f"t{number}"]})
    elif step.deed == "forget":
        store.forget(file.stem[-26:])
    elif step.deed == "by hand":
        file.write_text(file.read_text("utf-8") + f"\nAnd number {number}.\n", "utf-8")
    elif step.deed == "delete file":
        file.unlink()
    elif step.deed == "move file":
        (root / "lore" / "moved").mkdir(exist_ok=True)
        shutil.move(file, root / "lore" / "moved" / f"{number}--{file.stem[-26:]}.md")
    elif step.deed == "break file":
        (root / "broken").mkdir(exist_ok=True)
        file.rename(root / "broken" / file.name)  # an invalid file takes its place
        file.write_text(f"---\nid: [broken {number}\n---\n", "utf-8")
    elif step.deed == "new index":
        store.store.index.mark_damaged("for the test")
    elif step.deed == "touch":
        file.touch()


@settings(max_examples=examples(6, 200))
@given(steps=STEPS)
def test_a_copy_that_follows_the_feed_equals_the_store(
    tmp_path_factory: object, steps: Sequence[Step]
) -> None:
    root = make_plain_store(tmp_path_factory.mktemp("store") / "s")  # type: ignore[attr-defined]
    clock, copy = SetClock(START), Copy()
    store = open_test_store(root, clock=clock)
    broken = False
    for number, step in enumerate(steps):
        clock.advance(seconds=timedelta(minutes=step.which).seconds)
        broken = broken or step.deed == "break file"
        do(store, root, step, number)
        if step.deed == "restart":
            store.close()
            store = open_test_store(root, clock=clock)
        if step.asks:
            copy.follow(store, step.limit)
    copy.follow(store, None)
    expected = {one.lore.id: (one.lore.content, one.lore.tags) for one in store.list(limit=None).lore}
    assert {name: content for name, content in copy.lore.items() if name in expected} == expected
    assert broken or copy.lore == expected, "broken entries stay in the copy unchanged"
    store.close()


ID, OTHER = "01KEZ6S41TSV4RRFFQ69G5FAVA", "01KEZ6S41TSV4RRFFQ69G5FAVB"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_plain_store(tmp_path / "store")


def test_every_kind_of_change_is_reported_once_and_in_order(root: Path) -> None:
    with open_test_store(root, clock=(clock := SetClock())) as store:
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
        changes = store.delta(first.cursor)
        assert {one.lore.id for one in changes.lore} == {made[2], ID}
        assert (changes.created_ids, changes.deleted_ids) == ((ID,), (made[1],))
        assert all(one.digest == store.get(one.lore.id).digest for one in changes.lore)
        assert store.delta(changes.cursor)[:3] == ((), (), ())


def test_a_cursor_survives_restarts_a_rebuilt_index_and_broken_files(root: Path) -> None:
    with open_test_store(root) as store:
        made = [store.record(text, category="fact").lore.id for text in (QUEUE, COLOUR, TIDES)]
        paths = {one: root / store.get(one).path for one in made}
        cursor = store.delta().cursor
    whole = paths[made[0]].read_bytes()
    paths[made[0]].write_text("---\nid: [broken\n---\n")
    paths[made[1]].unlink()
    with open_test_store(root, clock=SetClock(START.replace(day=6))) as store:
        store.store.index.mark_damaged("for the test")
        changes = store.delta(cursor)
        assert (changes.lore, changes.deleted_ids) == ((), (made[1],)), (
            "a deletion is noticed although the index was rebuilt"
        )
        paths[made[0]].write_bytes(whole)
        assert store.delta(changes.cursor)[:3] == ((), (), ()), "the repaired file is unchanged"
        assert store.delta(cursor).deleted_ids == (made[1],), "an old cursor reports it again"


def test_entries_that_cannot_be_read_are_reported_later(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> None:
        raise StoreError("It cannot be read just now.")

    with open_test_store(root) as store:
        made = [store.record(text, category="fact").lore.id for text in (QUEUE, TIDES)]
        store.delta()
        store.patch(made[0], {"tags": "a"})
        cursor = store.delta().cursor.partition("-")[0] + "-2"
        with monkeypatch.context() as patched:
            patched.setattr(entry_writer, "load", unreadable)
            changes = store.delta(cursor)
            assert changes[:3] == ((), (), ())
        again = store.delta(changes.cursor)
        assert ([one.lore.id for one in again.lore], again.created_ids) == ([made[0]], ())
        assert store.delta(again.cursor)[:3] == ((), (), ())


def test_a_limit_splits_the_changes_into_several_answers(root: Path) -> None:
    with open_test_store(root) as store:
        made = {
            store.record(f"{text} {number}", category="fact").lore.id
            for number in range(4)
            for text in (QUEUE, TIDES)
        }
        found, cursor, more = [], "", True
        while more:
            changes = store.delta(cursor, limit=3)
            cursor, more = changes.cursor, changes.more
            found += [one.lore.id for one in changes.lore]
        assert (len(found), set(found)) == (8, made)
        with pytest.raises(engram.EngramError):
            store.delta(limit=0)


def test_pulled_changes_are_reported_whatever_their_dates(tmp_path: Path) -> None:
    ours, theirs = dedicated(tmp_path / "ours"), tmp_path / "theirs"
    with open_test_store(ours, clock=SetClock(START.replace(year=2020))) as store:
        old = store.record(QUEUE, category="fact").lore.id
        commit_quietly(store.store)
    git(tmp_path, "clone", "-q", str(ours), str(theirs))
    with open_test_store(theirs) as store:
        cursor = store.delta().cursor
    with open_test_store(ours, clock=SetClock(START.replace(year=2020, month=4))) as store:
        store.record(TIDES, category="fact")
        store.forget(old)
        commit_quietly(store.store)
    git(theirs, "pull", "-q")
    for path in lore_files(theirs):
        os.utime(path, (1.6e9, 1.6e9))  # as rsync and some checkouts leave it
    with open_test_store(theirs, clock=SetClock(START.replace(day=6))) as store:
        changes = store.delta(cursor)
        assert ([one.lore.content for one in changes.lore], changes.deleted_ids) == ([TIDES], (old,))


def test_a_quarantined_text_is_reported_once_it_is_accepted(root: Path, home: Path) -> None:
    (home / ".config/engram").mkdir(parents=True)
    (home / ".config/engram/config.toml").write_text('[trust]\nhold = "foreign"\n')
    with open_test_store(root) as store:
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
        assert while_waiting[:3] == ((), (), ()), "neither the new entry nor the change of the known one"
        store.accept(everything=True)
        changes = store.delta(while_waiting.cursor)
        assert {one.lore.id for one in changes.lore} == {known.id, new.id}
        assert changes.created_ids == (new.id,)


def test_cursors_of_another_feed_or_too_old_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_table, "MOST_GONE", 2)
    with open_test_store(root) as store:
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


def test_a_time_can_replace_the_cursor(root: Path) -> None:
    clock = SetClock()
    with open_test_store(root, clock=clock) as store:
        first = store.record(QUEUE, category="fact").lore.id
        store.delta()
        clock.advance(hours=1)
        store.forget(first)
        clock.advance(hours=1)
        second = store.record(TIDES, category="fact").lore.id
        changes = store.delta(clock.now())
        assert ([one.lore.id for one in changes.lore], changes.deleted_ids) == ([second], (first,)), (
            "noticed now"
        )
        clock.advance(hours=1)
        assert store.delta(clock.now())[:3] == ((), (), ())
        assert store.delta("2026-01-01")[0] == changes.lore
        with pytest.raises(engram.EngramError, match="future"):
            store.delta("2999-01-01T00:00:00Z")
