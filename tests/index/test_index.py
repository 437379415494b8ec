"""A damaged index heals: the next answer is right, or a scan that says so, and nothing crashes.

Mutants that make no difference: a tenth of a second more to wait for a lock; `uri` where SQLite takes any name for one.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from effort import sampled
from index_kit import TEXTS, generation_of, index_of, make_indexed_store
from storekit import SteadyClock, answers, lines, open_test_store, reopen_rebuilt, run

from engram.adapters.index.damage import IndexUnavailableError
from engram.adapters.index.index import Generation, Index
from engram.adapters.index.writer import GenerationWriter, NewText
from engram.usecases.upkeep.doctor import doctor
from tests.index.test_delta import new_text, scores, written

if TYPE_CHECKING:
    from engram.app import Engram


def ask(engram: Engram) -> list[str]:
    """Return the content of the first result of a query."""
    return [hit.lore.content for hit in engram.query("idempotent queue consumer", k=1, keep=False).lore]


FOUND = [TEXTS[0][0]]


@sampled("meta", ["", "{}", "[]", "null", '{"format": 1', '{"format": 0}', "\x00" * 50], everyday=2)
def test_an_index_of_another_format_is_rebuilt(tmp_path: Path, meta: str) -> None:
    root = tmp_path / "store"
    make_indexed_store(root, SteadyClock()).close()
    (generation_of(root) / "meta.json").write_text(meta)
    with open_test_store(root) as engram:
        assert engram.refresh().rebuilt
        assert ask(engram) == FOUND
        assert engram.refresh().rebuilt == ""


def test_an_index_of_another_model_is_rebuilt(tmp_path: Path) -> None:
    root = tmp_path / "store"
    make_indexed_store(root, SteadyClock()).close()
    file = generation_of(root) / "meta.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "model": "path:0123:mean1"}))
    with open_test_store(root) as engram:
        assert "another" in engram.refresh().rebuilt
        answer = engram.query("idempotent queue consumer")
        assert (answer.strategy, answer.notes) == ("hybrid", ())


@sampled("name", ["", "generation-gone", "../..", "/etc", "\xff", "generation-x\ngeneration-y"], 2)
def test_an_invalid_current_file_leads_to_a_new_index(tmp_path: Path, name: str) -> None:
    root = tmp_path / "store"
    make_indexed_store(root, SteadyClock()).close()
    (index_of(root) / "CURRENT").write_text(name, "latin-1")
    with open_test_store(root) as engram:
        assert ask(engram) == FOUND
        assert generation_of(root).is_dir()


def test_a_generation_that_a_killed_process_left_half_written_is_swept(tmp_path: Path) -> None:
    root = tmp_path / "store"
    make_indexed_store(root, SteadyClock()).close()
    half = index_of(root) / "generation-HALF"
    half.mkdir()
    (half / "meta.json").write_text("{")
    with open_test_store(root) as engram:
        assert ask(engram) == FOUND
        (index_of(root) / "CURRENT").unlink()
        assert ask(engram) == FOUND
    assert not half.exists()


def test_a_file_in_place_of_the_index_folder_is_moved_aside(tmp_path: Path) -> None:
    root = tmp_path / "store"
    make_indexed_store(root, SteadyClock()).close()
    shutil.rmtree(index_of(root))
    index_of(root).write_text("not a folder")
    with open_test_store(root) as engram:
        assert ask(engram) == FOUND
        assert engram.query("queue").strategy == "hybrid"


def test_a_folder_in_place_of_the_current_file_is_moved_aside(tmp_path: Path) -> None:
    root = tmp_path / "store"
    make_indexed_store(root, SteadyClock()).close()
    (index_of(root) / "CURRENT").unlink()
    (index_of(root) / "CURRENT" / "x").mkdir(parents=True)
    with open_test_store(root) as engram:
        assert ask(engram) == FOUND
        assert engram.query("queue").strategy == "hybrid"


def test_a_state_folder_deleted_while_open_comes_back(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with make_indexed_store(root, SteadyClock()) as engram:
        assert ask(engram) == FOUND
        shutil.rmtree(root / ".git" / "engram" / "index")
        assert ask(engram) == FOUND
        assert engram.query("queue").strategy == "hybrid"


def test_texts_a_killed_writer_added_only_to_the_words_are_ignored(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", SteadyClock()
    with make_indexed_store(root, clock) as engram:
        words = engram.store.index.look().words  # type: ignore[union-attr]
        words.begin(bulk=False)
        for row in range(5, 25):
            words.add(row, "queue consumer queue")
        words.commit()
    with open_test_store(root, clock) as engram:
        fresh = reopen_rebuilt(engram, tmp_path / "state")
        assert answers(engram) == answers(fresh)
        fresh.close()


def test_texts_a_killed_writer_removed_only_from_the_words_are_found_again(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", SteadyClock()
    with make_indexed_store(root, clock) as engram:
        words = engram.store.index.look().words  # type: ignore[union-attr]
        words.begin(bulk=False)
        words.remove([0, 1, 2])
        words.commit()
    with open_test_store(root, clock) as engram:
        fresh = reopen_rebuilt(engram, tmp_path / "state")
        assert answers(engram) == answers(fresh)
        fresh.close()


def test_damage_seen_by_one_process_does_not_discard_a_newer_index(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with make_indexed_store(root, SteadyClock()) as old, open_test_store(root) as new:
        generation = old.store.index.look()
        assert generation is not None
        new.store.index.look()
        new.store.index.mark_damaged("for the test")
        new.refresh()
        current = generation_of(root)
        old.store.index.mark_damaged("what it had open is gone")
        assert generation_of(root) == current
        assert ask(old) == FOUND


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Make a folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@sampled("read_only", ["state", "index"])
def test_without_permission_to_write_its_state_a_store_still_answers(
    open_folder: Path, read_only: str
) -> None:
    """Runs in a process that is not root, since root may write anywhere."""
    root = open_folder / "store"
    make_indexed_store(root, SteadyClock()).close()
    state = root / ".git" / "engram"
    (generation_of(root) / "meta.json").write_text("{}")
    folder = state if read_only == "state" else state / "index"
    script = """
        import os, sys, json
        import engram
        with engram.open(sys.argv[2], session="s", background=False) as store:  # loads every module needed
            store.record("retry", category="FACT")
            store.query("retry", strategy="scan")
            store.status()
        os.environ["XDG_CONFIG_HOME"] = os.environ["HOME"] = sys.argv[2]  # the test's own home is root's
        if os.geteuid() == 0:
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
        with engram.open(sys.argv[1], session="s") as store:
            answer = store.query("idempotent queue consumer")
            print(json.dumps([answer.strategy, len(answer.lore), list(answer.notes)]))
            print(json.dumps(store.status()["index"]))
            try:
                store.record("retry", category="FACT")
            except engram.EngramError as error:
                print(json.dumps([type(error).__name__, error.message]))
    """
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "65534:65534", root], check=True)
    places = [Path(place) for place, _, _ in os.walk(folder)]
    for place in places:
        place.chmod(0o555)
    try:
        done = run(script, root, open_folder / "other")
    finally:
        for place in places:
            place.chmod(0o755)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    answer, status, *refusal = lines(done.stdout)
    if read_only == "state":  # the whole state lies elsewhere then, with an index of its own
        assert answer[:2] == ["hybrid", 4]
        assert status["ok"] is True
    else:
        assert answer[:2] == ["scan", 1]
        assert answer[2]
        assert status["ok"] is False
    assert [name for name, _ in refusal if name != "StoreError"] == []


def test_the_doctor_reports_nothing_for_a_sound_index(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", SteadyClock()
    with make_indexed_store(root, clock) as engram:
        shown = engram.list().lore[0]
        (root / "lore" / "twin.md").write_bytes((root / shown.path).read_bytes())
        (root / "lore" / "dropped.md").write_text("# Nothing but text\n")
        (root / "lore" / "bad.md").write_text("---\nid: [\n")
        assert {finding.kind for finding in doctor(engram.store)} == {"file", "adoption"}
        clock.ahead = (
            61 * 10**9
        )  # what was recorded a moment ago is about to be committed; by now it should be
        assert {finding.kind for finding in doctor(engram.store)} == {"file", "adoption", "git"}


def test_the_doctor_finds_an_entry_hidden_by_a_single_changed_value(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with make_indexed_store(root, SteadyClock()) as engram:
        generation = engram.store.index.look()
        assert generation is not None
        generation.catalog.connection.execute(
            "UPDATE files SET status = 'archived' WHERE title LIKE 'The queue consumer%'"
        )
        assert ask(engram) != FOUND
        assert [finding.kind for finding in doctor(engram.store) if finding.kind != "git"] == ["index"]
        doctor(engram.store, fix=True)
        assert ask(engram) == FOUND


# The index without a store: of words alone, each object as a process has it.


def index_in(folder: Path) -> Index:
    return Index(str(folder / "index"), "", 0)


def built(index: Index, token: str, *said: NewText, folders: dict[str, int] | None = None) -> Generation:
    """Make a new generation with these texts the current one."""
    generation = index.create(token)
    writer = GenerationWriter(generation, bulk=True)
    writer.add(said, None, [1] * len(said))
    writer.folders(folders or {}, [])
    writer.commit({})
    index.switch(generation)
    return generation


def found(generation: Generation | None, word: str) -> list[int]:
    assert generation is not None
    return list(scores(generation, word))


def test_a_process_follows_the_writes_of_another(tmp_path: Path) -> None:
    one, other = index_in(tmp_path), index_in(tmp_path)
    assert (other.look(), other.generation, other.why_rebuilt) == (None, None, "there was none")
    first = built(one, "1", new_text(0, "a heron"))
    assert one.generation is one.look() is first
    seen = other.look()
    assert found(seen, "heron") == [0]
    written(first, [new_text(1, "a walrus")])
    assert other.look() is seen
    assert found(seen, "walrus") == [1]
    assert seen is not None
    assert seen.follow() is False
    written(first, [new_text(2, "a crane")])
    assert seen.follow() is True
    assert found(seen, "crane") == [2]
    built(one, "2", new_text(0, "a stork"))
    assert found(other.look(), "stork") == [0]
    for old in (first, seen):
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            old.catalog.count_rows()


def test_only_the_last_two_generations_are_kept(tmp_path: Path) -> None:
    index = index_in(tmp_path)
    for token in "123":
        built(index, token)
    Path(index.folder, "generation-file").write_text("no folder")
    built(index, "4")
    left = sorted(path.name for path in Path(index.folder).iterdir() if path.is_dir())
    assert left == ["generation-3", "generation-4"]


def test_a_discarded_generation_leaves_no_files(tmp_path: Path) -> None:
    index = index_in(tmp_path)
    half = index.create("1")
    for _ in range(2):  # the second time its folder is gone
        index.discard(half)
        assert os.listdir(index.folder) == []
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        half.catalog.count_rows()
    assert index.look() is None


def test_a_damaged_generation_is_never_opened_again(tmp_path: Path) -> None:
    index, other = index_in(tmp_path), index_in(tmp_path)
    generation = built(index, "1", new_text(0, "a heron"))
    other.mark_damaged("it has none open")
    assert found(other.look(), "heron") == [0]
    index.mark_damaged("for the test")
    assert (index.generation, index.look(), index.why_rebuilt) == (None, None, "for the test")
    assert (other.look(), other.why_rebuilt) == (None, "there was none")
    Path(index.folder, "CURRENT").write_text("generation-1")
    assert index.look() is None
    assert found(other.look(), "heron") == [0]
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        generation.catalog.count_rows()


def test_an_index_locked_by_another_process_is_used_again_once_it_is_free(tmp_path: Path) -> None:
    index = index_in(tmp_path)
    generation = built(index, "1", new_text(0, "a heron"))
    index.drop()
    holder = sqlite3.connect(generation.catalog.path, isolation_level=None)
    holder.execute("PRAGMA journal_mode=DELETE")
    opened_again = index.look()
    assert opened_again is not None
    opened_again.catalog.connection.execute("PRAGMA busy_timeout=1")
    holder.execute("BEGIN EXCLUSIVE")
    assert index.look() is None
    assert "locked" in index.why_rebuilt
    holder.execute("ROLLBACK")
    holder.close()
    assert found(index.look(), "heron") == [0]


@pytest.mark.parametrize("name", ["elsewhere", "generation-1/../generation-1"])
def test_the_current_file_can_only_name_a_generation_beside_it(tmp_path: Path, name: str) -> None:
    index = index_in(tmp_path)
    built(index, "1")
    folder = Path(index.folder)
    shutil.copytree(folder / "generation-1", folder / "elsewhere")
    (folder / "CURRENT").write_text(name)
    assert index.look() is None


def test_a_file_in_the_way_of_the_index_folder_is_moved_aside_or_reported(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("not a folder")
    index = index_in(tmp_path)
    for _ in range(2):
        index.make_folder()
        assert os.listdir(index.folder) == []
    assert (tmp_path / "index.damaged").read_text() == "not a folder"
    with pytest.raises(IndexUnavailableError, match=r"cannot be made: Not a directory\."):
        index_in(tmp_path / "index.damaged").make_folder()


def test_whether_entries_have_moments_is_known_unless_a_folder_changed(tmp_path: Path) -> None:
    root, index = tmp_path / "50% of? #1", index_in(tmp_path / "50% of? #1")
    assert index.may_have_moments(str(root))
    (root / "lore").mkdir(parents=True)
    folders = {"lore": (root / "lore").stat().st_mtime_ns}
    assert index.may_have_moments(str(root))
    generation = built(index, "1", new_text(0, "a heron"), folders=folders)
    assert index.may_have_moments(str(root)) is False
    os.utime(root / "lore", ns=(0, folders["lore"] + 1))
    assert index.may_have_moments(str(root)) is True
    (root / "lore").rmdir()
    assert index.may_have_moments(str(root)) is True
    (root / "lore").mkdir()
    os.utime(root / "lore", ns=(0, folders["lore"]))
    assert index.may_have_moments(str(root)) is False
    late = new_text(1, "a walrus")
    assert late.entry.lore is not None
    lore = late.entry.lore._replace(when=("file: *.py",))
    written(generation, [late._replace(entry=late.entry._replace(lore=lore))])
    assert index.may_have_moments(str(root)) is True
