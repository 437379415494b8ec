"""The changes that a refresh notices: one example for each rule.

Mutants that make no difference: `None` for `False`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from index_kit import generation_of, make_indexed_store
from storekit import SECONDS, SteadyClock, answers, contents, later_tick, open_test_store, reopen_rebuilt

from engram.adapters.files import scan
from engram.adapters.index.vectors import VectorFile
from engram.adapters.index.writer import GenerationWriter
from engram.usecases.index import freshness
from engram.usecases.index.refresh import refresh
from engram.usecases.store import accepted_settings

SECRET = "AKIA" + "Z7QX2M4KPL9TRWVB"  # of no account; put together so that no scanner finds it here
NOT_YAML = b"---\nid: [\n---\nbroken\n"


def test_a_file_edited_in_place_with_size_and_time_restored_is_read_again(tmp_path: Path) -> None:
    clock = SteadyClock()
    with open_test_store(tmp_path / "store", clock) as engram:
        shown = engram.record("retry the broker", category="FACT")
        engram.refresh()
        clock.ahead += 3 * SECONDS
        engram.refresh()  # from here on the file's time is old enough to be trusted
        later_tick(tmp_path)
        path = tmp_path / "store" / shown.path
        before = path.stat().st_mtime_ns
        path.write_bytes(path.read_bytes().replace(b"broker", b"parser"))
        os.utime(path, ns=(before, before))
        assert engram.refresh().changed == 1
        assert [hit.lore.content for hit in engram.query("parser").lore] == ["retry the parser"]


def test_a_file_changed_within_the_tick_in_which_it_was_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If file times have a coarse resolution, another change within one tick shows only after two seconds."""
    with open_test_store(tmp_path / "store") as engram:
        path = tmp_path / "store" / engram.record("retry the broker", category="FACT").path
        same = scan.stamp(str(path))
        assert same is not None
        monkeypatch.setattr(scan, "_stamp", lambda _: same)
        engram.refresh()
        path.write_bytes(path.read_bytes().replace(b"broker", b"parser"))
        assert engram.refresh().changed == 1


def test_a_folder_changed_within_the_tick_in_which_it_was_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", -1)
    monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", -1)
    with open_test_store(tmp_path / "store") as engram:
        lore = tmp_path / "store" / "lore"
        (lore / "one.md").write_text("# Retry the broker\n")
        engram.refresh()
        before = lore.stat().st_mtime_ns
        (lore / "two.md").write_text("# Cache the parser\n")
        os.utime(lore, ns=(before, before))
        assert refresh(engram.store, thorough=False).added == 1


def test_in_a_large_store_only_a_sweep_finds_files_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SteadyClock()
    clock.ahead = 10 * SECONDS
    with open_test_store(tmp_path / "store", clock) as engram:
        path = tmp_path / "store" / "lore" / "one.md"
        path.write_text("# Retry the broker\n")
        engram.refresh()
        monkeypatch.setattr(freshness, "SWEEP_ALWAYS", -1)
        monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", -1)
        engram.store.watchable = False
        for number, asked in enumerate(({"thorough": False, "sweep": True}, {"thorough": True}, {})):
            path.write_text(f"# Retry the broker {number} times\n")
            assert refresh(engram.store, thorough=False).changed == 0
            assert refresh(engram.store, **asked).changed == 1
        path.write_text("# Cache the parser\n")
        monkeypatch.setattr(freshness, "SWEEP_ALWAYS", 1)
        assert refresh(engram.store, thorough=False).changed == 1, "in a small store it is always due"


def test_an_index_of_another_model_is_kept_for_given_paths_and_without_a_model(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_indexed_store(tmp_path, SteadyClock()).close()
    meta = generation_of(tmp_path) / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "model": "another"}))
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", 0)  # as in a large store
    with open_test_store(tmp_path) as engram:
        assert refresh(engram.store, paths=["lore/none.md"]).rebuilt == ""
    settings = home / ".config" / "engram" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[embedding]\nprovider = "none"\n')
    with open_test_store(tmp_path) as engram:
        assert refresh(engram.store).rebuilt == "", "the words of any index are good enough"


@pytest.mark.usefixtures("never_compacted")
def test_removed_and_replaced_texts_leave_the_word_index(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        shown = [engram.record(f"retry the broker, case {number}", category="FACT") for number in range(6)]
        engram.refresh()
        engram.forget(*[one.lore.id for one in shown[:3]])
        (root / shown[3].path).write_text("# Cache the parser\n")
        assert engram.refresh().rebuilt == ""
        generation = engram.store.index.look()
        assert generation is not None
        assert generation.words.count == generation.catalog.count_rows() == 3
        assert generation.verify() == []


@pytest.mark.usefixtures("never_compacted")
def test_a_shadowed_duplicate_is_found_when_the_other_file_is_deleted(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        shown = engram.record("retry the broker", category="FACT")
        (root / "lore" / "zz.md").write_bytes((root / shown.path).read_bytes())
        assert [hit.path for hit in engram.query("broker").lore] == [shown.path]
        (root / shown.path).unlink()
        assert [hit.path for hit in engram.query("broker").lore] == ["lore/zz.md"]


def test_a_dropped_file_whose_time_alone_changed_gets_its_new_dates(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store", SteadyClock()) as engram:
        dropped = tmp_path / "store" / "lore" / "dropped.md"
        dropped.write_text("# The parser is flaky\n")
        engram.refresh()
        os.utime(dropped, ns=(0, 1_700_000_000 * SECONDS))
        engram.refresh()
        fresh = reopen_rebuilt(engram, tmp_path / "state")
        assert contents(engram) == contents(fresh)
        fresh.close()


def test_a_broken_file_replaced_with_a_symlink_is_reported_as_a_symlink(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store", SteadyClock()) as engram:
        file = tmp_path / "store" / "lore" / "file.md"
        file.write_bytes(NOT_YAML)
        engram.refresh()
        file.unlink()
        file.symlink_to(tmp_path)
        engram.refresh()
        generation = engram.store.index.look()
        assert generation is not None
        assert ["symbolic link" in problem.message for problem in generation.catalog.problems()] == [True]


def test_a_symlink_in_place_of_an_uncommitted_entry_does_not_break_queries(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store", SteadyClock()) as engram:
        first = engram.record("retry the broker", category="FACT")
        engram.record("cache the parser", category="FACT")
        path = tmp_path / "store" / first.path
        path.unlink()
        path.symlink_to(tmp_path)
        assert [hit.lore.content for hit in engram.query("cache the parser").lore] == ["cache the parser"]
    with open_test_store(tmp_path / "store") as engram:
        assert len(engram.list().lore) == 1


def test_a_judged_entry_replaced_with_a_symlink_is_counted_as_removed_once(tmp_path: Path) -> None:
    with open_test_store(tmp_path, SteadyClock()) as engram:
        first = engram.record("the retry queue consumer is idempotent")
        engram.refresh()
        engram.feedback(incorrect=first.lore.id)
        path = tmp_path / first.path
        path.unlink()
        path.symlink_to(tmp_path)
        refresh(engram.store)
        generation = engram.store.index.look()
        assert generation is not None
        assert (generation.next_row, generation.dead) == (1, 1)
        assert engram.query("retry queue").strategy == "hybrid"


def test_a_false_alarm_allowed_in_the_settings_is_recalled_without_touching_the_file(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        (root / "lore" / "key.md").write_text(f"The key of the parser is {SECRET}\n")
        assert engram.query("parser key").lore == ()
    with (root / ".engram.toml").open("a") as settings:
        settings.write(f'\n[secrets]\nallow = ["{SECRET}"]\n')
    accepted_settings.accept(str(root), str(root / ".git/engram"))
    with open_test_store(root) as engram:
        assert len(engram.query("parser key").lore) == 1
        assert engram.refresh().rebuilt == ""


def test_deleted_texts_do_not_count_for_idf_in_a_small_store(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store", SteadyClock()) as engram:
        kept = [engram.record(f"retry the broker, case {number}", category="FACT") for number in range(3)]
        gone = [engram.record(f"broker and parser {number}", category="FACT") for number in range(20)]
        engram.refresh()
        engram.forget(*[recorded.lore.id for recorded in gone])
        fresh = reopen_rebuilt(engram, tmp_path / "state")
        assert answers(engram) == answers(fresh)
        assert len(engram.query("broker").lore) == len(kept)
        fresh.close()


def test_a_change_made_while_the_catalog_is_read_is_seen_by_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_test_store(tmp_path / "store") as engram, open_test_store(tmp_path / "store") as other:
        engram.record("retry the broker", category="FACT")
        engram.refresh()
        generation = other.store.index.look()
        assert generation is not None
        meta = generation.catalog.meta

        def changed_meanwhile() -> dict[str, str]:
            read = meta()
            engram.store.index.look().catalog.set_meta({"swept_ns": "7"})  # type: ignore[union-attr]
            return read

        monkeypatch.setattr(generation.catalog, "meta", changed_meanwhile)
        generation.reload()
        monkeypatch.undo()
        other.store.index.look()
        assert generation.swept_ns == 7


def test_vectors_of_dropped_rows_stay_until_the_commit(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as engram:
        engram.record("retry the broker", category="FACT")
        engram.refresh()
        generation = engram.store.index.look()
        assert generation is not None
        before = contents(engram)
        writer = GenerationWriter(generation, bulk=False)
        writer.drop_rows([0])
        writer.abandon()
        assert contents(engram) == before
        assert generation.verify() == []


def test_a_running_writer_does_not_look_like_damage(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as engram, open_test_store(tmp_path / "store") as other:
        engram.record("retry the broker", category="FACT")
        engram.refresh()
        words = engram.store.index.look().words  # type: ignore[union-attr]
        words.begin(bulk=False)
        for row in range(10, 3000):
            words.add(row, f"text {row} of the parser")
        assert len(other.query("broker").lore) == 1
        assert other.query("broker").notes == ()
        words.abandon()


def test_a_new_index_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as engram:
        engram.record("retry the broker", category="FACT")
        assert refresh(engram.store, rebuild="test").rebuilt == "test"
        generation = engram.store.index.look()
        assert generation is not None
        assert generation.catalog.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_rows_left_by_a_killed_writer_are_overwritten(tmp_path: Path) -> None:
    import numpy

    vectors = VectorFile(str(tmp_path), 64)
    signs = numpy.random.default_rng(1).choice([-1, 1], (4, 64))
    axes = (signs / 8).astype("float32")  # unit vectors, nearly at right angles
    vectors.write(0, 0, axes[:2], [1, 1])
    vectors.write(2, 2, axes[[2, 2, 2, 2]], [1, 1, 1, 1])  # never committed
    assert vectors.cosines(axes[0], 2, 2).of(numpy.arange(2)).round().astype(int).tolist() == [1, 0]
    vectors.write(2, 2, axes[[3, 2]], [2])
    vectors.write(3, 4, axes[[0]], [1])
    assert vectors.cosines(axes[0], 4, 5).of(numpy.arange(4)).round().astype(int).tolist() == [1, 0, 0, 1]
