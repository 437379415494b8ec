"""A damaged index heals: the next query answers right, or by a scan that says so, and nothing crashes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from effort import sampled
from index_kit import TEXTS, filled, generation_of, index_of
from storekit import SteadyClock, answers, lines, opened, rebuilt, run

from engram.usecases.upkeep.doctor import doctor

if TYPE_CHECKING:
    from engram.app import Engram


def ask(engram: Engram) -> list[str]:
    """What a query finds first, by content."""
    return [hit.lore.content for hit in engram.query("idempotent queue consumer", k=1, keep=False).lore]


FOUND = [TEXTS[0][0]]


@sampled("meta", ["", "{}", "[]", "null", '{"format": 1', '{"format": 0}', "\x00" * 50], everyday=2)
def test_an_index_of_another_format_is_rebuilt(tmp_path: Path, meta: str) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    (generation_of(root) / "meta.json").write_text(meta)
    with opened(root) as engram:
        assert engram.refresh().rebuilt
        assert ask(engram) == FOUND
        assert engram.refresh().rebuilt == ""


def test_an_index_of_another_model_is_rebuilt(tmp_path: Path) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    file = generation_of(root) / "meta.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "model": "path:0123:mean1"}))
    with opened(root) as engram:
        assert "another" in engram.refresh().rebuilt
        answer = engram.query("idempotent queue consumer")
        assert (answer.strategy, answer.notes) == ("hybrid", ())


@sampled("name", ["", "generation-gone", "../..", "/etc", "\xff", "generation-x\ngeneration-y"], 2)
def test_a_current_file_that_names_nothing_leads_to_a_new_index(tmp_path: Path, name: str) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    (index_of(root) / "CURRENT").write_text(name, "latin-1")
    with opened(root) as engram:
        assert ask(engram) == FOUND
        assert generation_of(root).is_dir()


def test_a_generation_that_a_killed_process_left_half_written_is_swept(tmp_path: Path) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    half = index_of(root) / "generation-HALF"
    half.mkdir()
    (half / "meta.json").write_text("{")
    with opened(root) as engram:
        assert ask(engram) == FOUND
        (index_of(root) / "CURRENT").unlink()
        assert ask(engram) == FOUND
    assert not half.exists()


def test_a_file_in_place_of_the_index_folder_is_moved_aside(tmp_path: Path) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    shutil.rmtree(index_of(root))
    index_of(root).write_text("not a folder")
    with opened(root) as engram:
        assert ask(engram) == FOUND
        assert engram.query("queue").strategy == "hybrid"


def test_a_folder_in_place_of_the_current_file_is_moved_aside(tmp_path: Path) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    (index_of(root) / "CURRENT").unlink()
    (index_of(root) / "CURRENT" / "x").mkdir(parents=True)
    with opened(root) as engram:
        assert ask(engram) == FOUND
        assert engram.query("queue").strategy == "hybrid"


def test_a_state_folder_deleted_while_open_comes_back(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with filled(root, SteadyClock()) as engram:
        assert ask(engram) == FOUND
        shutil.rmtree(root / ".git" / "engram" / "index")
        assert ask(engram) == FOUND
        assert engram.query("queue").strategy == "hybrid"


def test_texts_a_killed_writer_added_only_to_the_words_are_ignored(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", SteadyClock()
    with filled(root, clock) as engram:
        words = engram.store.index.look().words  # type: ignore[union-attr]
        words.begin(bulk=False)
        for row in range(5, 25):
            words.add(row, "queue consumer queue")
        words.commit()
    with opened(root, clock) as engram:
        fresh = rebuilt(engram, tmp_path / "state")
        assert answers(engram) == answers(fresh)
        fresh.close()


def test_texts_a_killed_writer_removed_only_from_the_words_are_found_again(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", SteadyClock()
    with filled(root, clock) as engram:
        words = engram.store.index.look().words  # type: ignore[union-attr]
        words.begin(bulk=False)
        words.remove([0, 1, 2])
        words.commit()
    with opened(root, clock) as engram:
        fresh = rebuilt(engram, tmp_path / "state")
        assert answers(engram) == answers(fresh)
        fresh.close()


def test_damage_that_one_process_sees_does_not_cost_the_newer_index_of_another(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with filled(root, SteadyClock()) as old, opened(root) as new:
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
    """A folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@sampled("read_only", ["state", "index"])
def test_without_permission_to_write_its_state_a_store_still_answers(
    open_folder: Path, read_only: str
) -> None:
    """In a process that is not root, for root may write anywhere."""
    root = open_folder / "store"
    filled(root, SteadyClock()).close()
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


def test_the_doctor_finds_nothing_wrong_with_a_sound_index(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", SteadyClock()
    with filled(root, clock) as engram:
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
    with filled(root, SteadyClock()) as engram:
        generation = engram.store.index.look()
        assert generation is not None
        generation.catalog.connection.execute(
            "UPDATE files SET status = 'archived' WHERE title LIKE 'The queue consumer%'"
        )
        assert ask(engram) != FOUND
        assert [finding.kind for finding in doctor(engram.store) if finding.kind != "git"] == ["index"]
        doctor(engram.store, fix=True)
        assert ask(engram) == FOUND
