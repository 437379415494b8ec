"""Changing a generation: committed changes take effect, abandoned ones do not, and damage is detected.

Mutants that make no difference: the check numbers of vectors in an index that has none; a longer random mark; counting the
texts that wait though none does; folding texts when they are added or only at the commit; forgetting what a new catalog does
not have; reading all stamps again; `None` for `False`.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from engram.adapters.index import delta
from engram.adapters.index.catalog import Entry, Problem, texts_without_vectors
from engram.adapters.index.damage import DamagedIndexError
from engram.adapters.index.graph_ranks import RankedGraph, ranked_graph
from engram.adapters.index.index import GRAPH, Generation
from engram.adapters.index.vector_graph import GraphFile
from engram.adapters.index.writer import GenerationWriter, NewText
from engram.domain.entry.categories import SEMANTIC
from engram.domain.entry.lore import Lore
from engram.domain.judgements.tally import Tally

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WIDTH = 16


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change goes into the word index at once, as in a large change; tests/index/test_delta.py has the others."""
    monkeypatch.setattr(delta, "MOST", -1)


def text(number: int, words: str) -> NewText:
    lore = Lore(f"01J8ZC6W6NN2KC71CQ20QK{number:04d}", words, "FACT", NOW, NOW, tags=("a",))
    return NewText(
        Entry(f"lore/{number}.md", (1, 2, 3), "digest", 9, lore, text_digest=f"text {number}"), words
    )


def units(count: int) -> np.ndarray:
    return np.eye(WIDTH, dtype="float32")[:count] / 2


def make(tmp_path: Path, *, dimensions: int = WIDTH) -> Generation:
    return Generation(str(tmp_path / "generation"), "model", dimensions, create=True)


def fill(generation: Generation, *, bulk: bool = True) -> None:
    """Add three texts, with one, two and one vectors."""
    writer = GenerationWriter(generation, bulk=bulk)
    texts = [text(0, "retry the broker"), text(1, "cache the parser"), text(2, "lock the index")]
    writer.add(texts, units(4), [1, 2, 1], tokens=[b"one", b"two", b"three"])
    writer.folders({"lore": 5}, [])
    writer.commit({"head": "abc", "swept_ns": "7"})


@pytest.fixture
def generation(tmp_path: Path) -> Generation:
    made = make(tmp_path)
    fill(made)
    return made


def rows(generation: Generation, said: str) -> list[int]:
    words = generation.words
    return sorted(words.search(words.terms(said), 10).scores)


def best(generation: Generation, axis: int) -> int:
    assert generation.vectors is not None
    every = generation.vectors.cosines(units(WIDTH)[axis] * 2, generation.next_row, generation.next_slot)
    return int(every.of(np.arange(generation.next_row)).argmax())


def state(generation: Generation) -> list[object]:
    """Return the metadata of a generation and the contents of its files."""
    fields = ("next_row", "next_slot", "dead", "waiting", "head", "swept_ns", "rules", "folders")
    stored = Path(generation.folder, "vectors.i8").read_bytes()[: generation.next_slot * WIDTH]
    return [
        *(getattr(generation, field) for field in fields),
        stored,
        *generation.catalog.connection.iterdump(),
    ]


@pytest.mark.parametrize("bulk", [True, False])
def test_texts_are_found_once_they_are_committed(tmp_path: Path, bulk: bool) -> None:
    generation = make(tmp_path)
    assert (generation.next_row, generation.next_slot, generation.dead, generation.waiting) == (0, 0, 0, 0)
    fill(generation, bulk=bulk)
    for one in (generation, Generation(generation.folder, "model", WIDTH)):
        assert (one.next_row, one.next_slot, one.dead, one.waiting) == (3, 4, 0, 0)
        assert (one.head, one.swept_ns, one.rules, one.folders, one.other_model) == (
            "abc",
            7,
            "",
            {"lore": 5},
            False,
        )
        assert [rows(one, word) for word in ("broker", "parser", "index")] == [[0], [1], [2]]
        assert [best(one, axis) for axis in range(4)] == [0, 1, 1, 2]
        assert one.catalog.tokens([0, 1, 2, 3]) == {0: b"one", 1: b"two", 2: b"three"}
        assert one.stamps(1) == [(f"lore/{number}.md", 1, 2, 3) for number in range(3)]
        indexes = one.catalog.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'files_id'")
        assert bool(indexes.fetchall()) is bulk
        mode = one.catalog.connection.execute("PRAGMA journal_mode").fetchone()
        assert (mode == ("wal",)) is bulk, "a complete one is read while somebody writes"
        assert one.words_in_step()
        assert one.check_in_step()
        assert one.verify() == []


def test_an_abandoned_change_leaves_no_trace(generation: Generation) -> None:
    before = state(generation)
    writer = GenerationWriter(generation, bulk=False)
    writer.add([text(3, "an abandoned note")], units(1), [1])
    writer.drop_rows([0])
    writer.remove(["lore/0.md"])
    writer.folders({"lore": 6}, [])
    writer.touch([(9, 9, 9, 9, "lore/1.md")])
    writer.abandon()
    assert state(generation) == before
    assert rows(generation, "abandoned") == []
    assert rows(generation, "broker") == [0]
    assert generation.verify() == []
    fill_one(generation)
    assert rows(generation, "more") == [3]
    assert generation.verify() == []


def test_only_an_error_in_the_block_abandons_a_change(generation: Generation) -> None:
    def fail() -> None:
        with GenerationWriter(generation, bulk=False) as writer:
            writer.folders({"lore": 6}, [])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with GenerationWriter(generation, bulk=False) as writer:  # which the other one would keep waiting
        writer.folders({"more": 7}, [])
    writer.commit({})
    assert generation.folders == {"lore": 5, "more": 7}


@pytest.mark.parametrize("bulk", [True, False])
def test_texts_added_and_removed_during_a_fold_stay_in_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bulk: bool
) -> None:
    monkeypatch.setattr(delta, "MOST", 0)
    generation = make(tmp_path)
    fill(generation)
    writer = GenerationWriter(generation, bulk=bulk)
    for number, said in ((3, "a heron"), (4, "a walrus")):
        writer.add([text(number, said)], units(1), [1])
    writer.drop_rows([0])
    writer.remove(["lore/0.md"])
    writer.commit({})
    assert [rows(generation, word) for word in ("heron", "walrus", "broker")] == [[3], [4], []]
    assert generation.words.count == generation.catalog.count_rows() == 4
    assert generation.verify() == []


@pytest.mark.parametrize("bulk", [True, False])
def test_recording_a_file_again_replaces_its_line(tmp_path: Path, bulk: bool) -> None:
    generation = make(tmp_path)
    writer = GenerationWriter(generation, bulk=bulk)
    writer.add([text(0, "retry the broker")], units(1), [1])
    [before] = generation.catalog.known(["lore/0.md"]).values()
    entry = text(0, "retry the broker").entry
    assert entry.lore is not None
    entry = entry._replace(lore=entry.lore._replace(tags=("b",)), row=0, vector_check=before.vector_check)
    writer.put([entry], again=True)
    writer.put([Entry("lore/bad.md", (1, 2, 3), "digest", 9, problem=Problem("lore/bad.md", 1, "bad", ""))])
    writer.commit({})
    assert generation.catalog.connection.execute("SELECT tag FROM tags").fetchall() == [("b",)]
    assert sorted(path for path, *_ in generation.stamps(1)) == ["lore/0.md", "lore/bad.md"]
    assert generation.verify() == []


def test_confidence_decays_to_that_of_the_given_day(generation: Generation) -> None:
    said = text(3, "long ago")
    assert said.entry.lore is not None
    tally = Tally(800, 800, 100, 0, None, {}, believed=800, modest=750)
    lore = said.entry.lore._replace(type=SEMANTIC, tally=tally)
    for day, faded in ((130, 790), (160, 780)):
        with GenerationWriter(generation, bulk=False) as writer:
            writer.put([said.entry._replace(lore=lore, row=0, path="lore/0.md")])
            writer.fade(day)
            writer.commit({})
        [hit] = generation.catalog.hits([0])
        assert hit.confidence == faded


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b"[1", b'["meta.json"]'])
def test_an_incomplete_list_of_files_is_damage(generation: Generation, raw: bytes) -> None:
    Path(generation.folder, "words", ".managed.json").write_bytes(raw)
    assert generation.verify() == ["words/.managed.json: contents changed since they were written"]


def test_a_reordered_list_of_files_is_not_damage(generation: Generation) -> None:
    file = Path(generation.folder, "words", ".managed.json")
    file.write_text(json.dumps([*reversed(json.loads(file.read_text())), "begun by a writer"]))
    assert generation.verify() == []
    present = sorted(path.name for path in file.parent.iterdir() if path != file and path.suffix != ".lock")
    file.write_text(json.dumps(present))
    assert generation.verify() == []


def fill_one(generation: Generation) -> None:
    writer = GenerationWriter(generation, bulk=False)
    writer.add([text(3, "one more note")], units(1), [1])
    writer.commit({})


def test_a_text_added_later_gets_the_next_row(generation: Generation) -> None:
    fill_one(generation)
    assert (generation.next_row, generation.next_slot, generation.dead, generation.head) == (4, 5, 0, "abc")
    assert rows(generation, "note") == [3]
    assert rows(generation, "broker") == [0]
    assert generation.verify() == []


def test_removed_texts_are_gone_from_words_vectors_and_catalog(generation: Generation) -> None:
    writer = GenerationWriter(generation, bulk=False)
    writer.drop_rows([1])
    writer.drop_rows([])
    writer.remove(["lore/1.md"])
    writer.commit({})
    assert (generation.next_row, generation.next_slot, generation.dead) == (3, 4, 1)
    assert generation.words_dead == 1
    assert rows(generation, "parser") == []
    assert generation.words.count == 2
    assert generation.catalog.tokens([0, 1, 2]) == {0: b"one", 2: b"three"}
    assert [path for path, *_ in generation.stamps(1)] == ["lore/0.md", "lore/2.md"]
    assert generation.vectors is not None
    stored = np.fromfile(generation.vectors.path, "int8").reshape(-1, WIDTH)
    assert [bool(line.any()) for line in stored] == [True, False, False, True]
    assert generation.verify() == []


def test_a_file_that_changes_without_changing_length_is_checked_again(generation: Generation) -> None:
    sizes = set()
    for row in range(3):
        writer = GenerationWriter(generation, bulk=False)
        writer.drop_rows([row])
        writer.remove([f"lore/{row}.md"])
        writer.commit({})
        sizes.add(Path(generation.folder, "words", "meta.json").stat().st_size)
        assert generation.verify() == []
    assert len(sizes) < 3


def test_a_closed_generation_releases_its_vectors_and_catalog(generation: Generation) -> None:
    def is_mapped() -> (
        bool
    ):  # only Linux says so; tantivy has a thread that may hold the words a moment longer
        maps = Path("/proc/self/maps")
        return maps.exists() and f"{generation.folder}/vectors.i8" in maps.read_text()

    assert (rows(generation, "broker"), best(generation, 0)) == ([0], 0)
    assert is_mapped() == Path("/proc/self/maps").exists()
    generation.close()
    assert not is_mapped()
    with pytest.raises(sqlite3.ProgrammingError):
        generation.catalog.count_rows()


def test_texts_without_vectors_wait_for_them(generation: Generation) -> None:
    writer = GenerationWriter(generation, bulk=False)
    writer.add([text(3, "first to wait"), text(4, "second to wait")], None, [1, 2])
    writer.commit({})
    assert (generation.waiting, generation.next_slot) == (2, 7)
    assert [one.row for one in texts_without_vectors(generation.catalog, 0, 9)] == [3, 4]
    assert rows(generation, "wait") == [3, 4]
    assert generation.verify() == []
    writer = GenerationWriter(generation, bulk=False)
    writer.fill({4: units(WIDTH)[10:12]})
    writer.commit({})
    assert generation.waiting == 1
    assert best(generation, 11) == 4
    assert generation.verify() == []
    writer = GenerationWriter(generation, bulk=False)
    writer.fill({3: units(WIDTH)[12:13]})
    writer.commit({})
    assert (generation.waiting, Generation(generation.folder, "model", WIDTH).waiting) == (0, 0)


def test_a_text_that_waits_and_is_removed_waits_no_longer(generation: Generation) -> None:
    writer = GenerationWriter(generation, bulk=False)
    writer.add([text(3, "to wait")], None, [1])
    writer.commit({})
    assert generation.waiting == 1
    writer = GenerationWriter(generation, bulk=False)
    writer.drop_rows([3])
    writer.remove(["lore/3.md"])
    writer.commit({})
    assert generation.waiting == 0


@pytest.mark.parametrize("bulk", [True, False])
def test_only_texts_with_missing_vectors_wait(tmp_path: Path, bulk: bool) -> None:
    generation = make(tmp_path)
    writer = GenerationWriter(generation, bulk=bulk)
    writer.add([text(0, "here"), text(1, "there")], units(2), [1, 1], [True, False])
    writer.commit({})
    assert generation.waiting == 1
    assert [one.row for one in texts_without_vectors(generation.catalog, -1, 9)] == [1]


def test_an_index_of_words_alone_has_no_vectors(tmp_path: Path) -> None:
    generation = make(tmp_path, dimensions=0)
    writer = GenerationWriter(generation, bulk=True)
    writer.add([text(0, "retry the broker")], None, [1])
    writer.commit({})
    assert generation.vectors is None
    assert (generation.next_row, generation.next_slot, generation.waiting) == (1, 0, 0)
    assert rows(generation, "broker") == [0]
    assert generation.verify() == []


def test_a_shadowed_duplicate_appears_when_the_first_file_is_removed(generation: Generation) -> None:
    twin = text(3, "the same id")
    assert twin.entry.lore is not None
    twin = twin._replace(
        entry=twin.entry._replace(lore=twin.entry.lore._replace(id=text(0, "").entry.lore.id))
    )  # type: ignore[union-attr]
    writer = GenerationWriter(generation, bulk=False)
    writer.add([twin], units(1), [1])
    writer.commit({})
    assert sorted(hit.row for hit in generation.catalog.select("1")) == [0, 1, 2]
    writer = GenerationWriter(generation, bulk=False)
    writer.drop_rows([0])
    writer.remove(["lore/0.md"])
    writer.commit({})
    assert sorted(hit.row for hit in generation.catalog.select("1")) == [1, 2, 3]
    assert generation.verify() == []


def test_stamps_follow_each_change(generation: Generation) -> None:
    assert generation.stamps(1)[1] == ("lore/1.md", 1, 2, 3)
    writer = GenerationWriter(generation, bulk=False)
    writer.touch([(5, 6, 7, 100, "lore/1.md")])
    writer.remove(["lore/2.md"])
    writer.drop_rows([2])
    writer.commit({})
    fill_one(generation)
    expected = [("lore/0.md", 1, 2, 3), ("lore/1.md", 5, 6, 7), ("lore/3.md", 1, 2, 3)]
    assert sorted(generation.stamps(1)) == expected
    assert sorted(generation.stamps(9)) == [
        (p, m, s if p == "lore/1.md" else -1, i) for p, m, s, i in expected
    ]
    other = Generation(generation.folder, "model", WIDTH)
    assert sorted(other.stamps(1)) == expected
    for again in (10, 11):
        writer = GenerationWriter(other, bulk=False)
        writer.touch([(again, again, 7, 100, "lore/1.md")])
        writer.commit({})
    assert sorted(other.stamps(1)) == [expected[0], ("lore/1.md", 11, 11, 7), expected[2]]


def test_the_next_writer_removes_texts_left_by_a_killed_one(generation: Generation) -> None:
    words = generation.words
    words.begin(bulk=False)
    for row in (3, 4):
        words.add(row, "left by a killed writer")
    words.commit()
    assert not generation.words_in_step()
    assert not generation.check_in_step()
    fill_one(generation)
    assert generation.words_in_step()
    assert (rows(generation, "killed"), rows(generation, "note")) == ([], [3])
    assert (generation.dead, generation.words_dead, generation.next_row) == (0, 2, 4)
    assert generation.verify() == []


def test_a_change_without_texts_also_removes_texts_of_a_killed_writer(generation: Generation) -> None:
    words = generation.words
    words.begin(bulk=False)
    words.add(3, "left by a killed writer")
    words.commit()
    writer = GenerationWriter(generation, bulk=False)
    writer.folders({"lore": 6}, [])
    writer.commit({})
    assert generation.words_in_step()
    assert (rows(generation, "killed"), generation.words_dead, generation.verify()) == ([], 1, [])


def test_words_that_lack_texts_of_the_catalog_are_damage(generation: Generation) -> None:
    other = Generation(generation.folder, "model", WIDTH)
    assert rows(other, "parser") == [1]
    words = generation.words
    words.begin(bulk=False)
    words.remove([1])
    words.commit()
    for one in (generation, other):
        with pytest.raises(DamagedIndexError, match="a killed process left it half written"):
            one.check_in_step()


def test_a_file_of_words_that_was_cut_short_is_damage_and_not_read(generation: Generation) -> None:
    folder = Path(generation.folder, "words")
    [name] = [path.name for path in folder.glob("*.store")]
    fill_one(generation)
    os.truncate(folder / name, 1)
    with pytest.raises(
        DamagedIndexError, match=rf"^words/{name} has a different size from the one recorded in the index"
    ):
        generation.words  # noqa: B018
    (folder / name).unlink()
    with pytest.raises(DamagedIndexError, match="a different size"):
        generation.words  # noqa: B018
    (folder / "meta.json").unlink()
    with pytest.raises(DamagedIndexError, match="its words are gone"):
        generation.words  # noqa: B018
    assert Generation(generation.folder, "model", WIDTH).catalog.count_rows() == 4


def test_verify_finds_changed_contents(generation: Generation) -> None:
    folder = Path(generation.folder)
    name = next(path.name for path in (folder / "words").glob("*.store"))
    for path in (folder / "words" / name, folder / "vectors.i8"):
        raw = bytearray(path.read_bytes())
        raw[2 * WIDTH if path.name == "vectors.i8" else 0] ^= 1
        path.write_bytes(raw)
    generation.catalog.connection.execute("UPDATE files SET title = 'x' WHERE row = 0")
    assert generation.verify() == [
        "catalog.db: the line of lore/0.md",
        f"words/{name}: contents changed since they were written",
        "vectors.i8: the vectors of lore/1.md are damaged",
    ]


@pytest.mark.parametrize(("name", "size"), [("vectors.i8", 4 * WIDTH), ("starts.u32", 3 * 4)])
def test_vectors_that_were_cut_short_are_damage_when_an_index_is_opened(
    generation: Generation, name: str, size: int
) -> None:
    path = Path(generation.folder, name)
    assert path.stat().st_size == size
    os.truncate(path, size - 1)
    with pytest.raises(DamagedIndexError, match="shorter than the catalog says"):
        Generation(generation.folder, "model", WIDTH)


def test_an_index_of_another_model_is_used_for_words_one_of_another_format_not_at_all(
    generation: Generation,
) -> None:
    folder = Path(generation.folder)
    other = Generation(generation.folder, "newer", 2 * WIDTH)
    assert (other.other_model, other.model, other.dimensions) == (True, "model", WIDTH)
    for one in (generation, other):
        with GenerationWriter(one, bulk=False) as writer:
            assert writer.other_model is one.other_model
            writer.abandon()
    assert rows(other, "broker") == [0]
    for wrong in ({"format": 0}, {"dimensions": 2 * WIDTH}):
        meta = json.loads((folder / "meta.json").read_text())
        copy = shutil.copytree(folder, folder.with_name(f"copy of {next(iter(wrong))}"))
        (copy / "meta.json").write_text(json.dumps(meta | wrong))
        with pytest.raises(DamagedIndexError, match="it was made by another version"):
            Generation(str(copy), "model", WIDTH)


def test_another_process_sees_a_commit_at_its_next_look(generation: Generation) -> None:
    other = Generation(generation.folder, "model", WIDTH)
    assert rows(other, "more") == []
    assert len(other.stamps(1)) == 3
    fill_one(generation)
    assert other.catalog.version() != other.version
    other.reload()
    assert (other.next_row, rows(other, "more"), best(other, 0)) == (4, [3], best(generation, 0))
    assert len(other.stamps(1)) == 4
    for changed, gone, folders in (({"more": 6}, (), {"lore": 5, "more": 6}), ({}, ["lore"], {"more": 6})):
        with GenerationWriter(generation, bulk=False) as writer:
            writer.folders(changed, gone)
            writer.commit({})
        other.reload()
        assert generation.folders == other.folders == folders


def test_the_vectors_use_the_graph_that_the_catalog_names(generation: Generation) -> None:
    other, named = Generation(generation.folder, "model", WIDTH), GraphFile("graph-x", 5, 6, 7, 8)
    for one in (generation, other):
        assert one.vectors is not None
        assert one.vectors.graph_file is one.graph_file is None
    with GenerationWriter(generation, bulk=False) as writer:
        writer.commit({GRAPH: named.packed()})
    other.reload()
    for one in (generation, other, Generation(generation.folder, "model", WIDTH)):
        assert one.vectors is not None
        assert one.vectors.graph_file == one.graph_file == named
    assert other.verify() == [], "one that is gone is made again"
    Path(generation.folder, named.name).write_bytes(bytes(named.size))
    assert other.verify() == ["graph-x: contents changed since they were written"]


def test_importance_is_kept_until_the_graph_changes(generation: Generation) -> None:
    assert generation.ranks() == {}
    assert generation.save_ranks(RankedGraph("one", "graph"), {"a": 0.5, "b": 0.25})
    assert generation.ranks() == {"a": 0.5, "b": 0.25}
    assert generation.ranks(["b", "c"]) == {"b": 0.25}
    assert generation.save_ranks(RankedGraph("two", "graph"), None)
    other = Generation(generation.folder, "model", WIDTH)
    assert (other.ranks(["a"]), ranked_graph(other.catalog)) == ({"a": 0.5}, RankedGraph("two", "graph"))
    writer = GenerationWriter(other, bulk=False)
    assert not generation.save_ranks(RankedGraph("three", "graph"), {"a": 0.75}), "another process is writing"
    writer.abandon()
    assert generation.save_ranks(RankedGraph("three", "none"), {})
    assert generation.ranks() == {}
