"""A graph over many vectors finds the same rows as comparing all, whatever was added, deleted or damaged since.

What is enough was measured, so it makes no difference if a mutant takes one vector, sample, neighbour, hit or thread more; nor
does reading a graph in larger parts or instead of mapping it, or `None` for 0.

Mutants that make no difference: how thoroughly a graph is made, by how many threads, and whether it is made anew or
continued, which takes longer and finds the same; a writer in bulk that adds no text.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import zlib
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from unittest.mock import Mock

import numpy as np
import pytest
from effort import sampled
from storekit import open_test_store

from engram.adapters.index import vector_graph, vectors
from engram.adapters.index.vector_graph import GraphFile, make_graph, read_graph_file
from engram.adapters.index.vectors import GraphCosines, VectorFile
from engram.adapters.index.writer import GenerationWriter
from engram.usecases.index import catch_up
from engram.usecases.index.refresh import refresh
from engram.usecases.index.vector_graph import is_graph_due
from engram.usecases.index.vector_graph import make_graph as make_store_graph
from engram.usecases.upkeep.background import tidy

if TYPE_CHECKING:
    from engram.app import Engram

WIDTH, ROWS = 32, 3000
ROOT = Path(__file__).resolve().parents[2]


def clustered(count: int, seed: int) -> np.ndarray:
    """Make unit vectors around 60 centres, like texts about 60 subjects."""
    centres = np.random.default_rng(0).normal(size=(60, WIDTH))
    random = np.random.default_rng(seed)
    around = centres[random.integers(0, 60, count)] + 0.5 * random.normal(size=(count, WIDTH))
    found: np.ndarray = (around / np.linalg.norm(around, axis=1)[:, None]).astype("float32")
    return found


def filled(folder: Path, counts: list[int]) -> VectorFile:
    file = VectorFile(str(folder), WIDTH)
    file.write(0, 0, clustered(sum(counts), 1), counts)
    return file


def with_graph(file: VectorFile, rows: int, slots: int, before: GraphFile | None = None) -> GraphFile:
    made = make_graph(file.folder, file.stored(slots), f"t{slots}", before, 1)
    file.graph_file = made
    for _ in range(2):
        file.cosines(clustered(1, 5)[0], rows, slots)
    assert file.wait_for_graph()
    return made


def share_found(file: VectorFile, rows: int, slots: int, wanted: int = 10) -> float:
    """Return the share of the nearest rows that the graph finds."""
    found = 0
    for query in clustered(40, 77):
        exact = file.cosines(query, rows, slots, exact=True).of(np.arange(rows))
        near = file.cosines(query, rows, slots)
        assert isinstance(near, GraphCosines)
        chosen = near.largest(wanted)
        assert chosen.tolist() == sorted(set(chosen.tolist()))
        assert near.of(chosen).tolist() == exact[chosen].tolist()
        assert len(chosen) < rows / 4
        found += min(wanted, int((exact[chosen] >= np.sort(exact)[-wanted]).sum()))
    return found / (40 * wanted)


@pytest.mark.parametrize("counts", [[1] * ROWS, [1, 3, 2] * (ROWS // 6)], ids=["one vector", "several"])
def test_a_graph_finds_the_nearest_rows(tmp_path: Path, counts: list[int]) -> None:
    file = filled(tmp_path, counts)
    with_graph(file, len(counts), sum(counts))
    assert share_found(file, len(counts), sum(counts)) >= 0.97


def test_rows_after_the_graph_are_found_and_deleted_ones_are_not(tmp_path: Path) -> None:
    file = filled(tmp_path, [1] * ROWS)
    made = with_graph(file, ROWS - 500, ROWS - 500)
    assert made.slots == ROWS - 500
    query = clustered(1, 8)[0]
    best = file.cosines(query, ROWS, ROWS, exact=True).largest(5)
    file.clear(best.tolist(), ROWS, ROWS)
    found = file.cosines(query, ROWS, ROWS).largest(5)
    assert not set(found.tolist()) & set(best.tolist())
    assert share_found(file, ROWS, ROWS) >= 0.97
    every = clustered(ROWS, 1)
    assert ROWS - 1 in file.cosines(every[-1], ROWS, ROWS).largest(1)
    assert ROWS - 500 in file.cosines(every[-500], ROWS - 499, ROWS - 499).largest(1)


def test_a_row_with_very_many_near_vectors_leaves_room_for_others(tmp_path: Path) -> None:
    counts = [200, *[1] * (ROWS - 200)]
    query = clustered(1, 8)[0]
    every = clustered(sum(counts), 1)
    every[:200] = query + 0.001 * every[:200]
    file = VectorFile(str(tmp_path), WIDTH)
    file.write(0, 0, every / np.linalg.norm(every, axis=1)[:, None], counts)
    with_graph(file, len(counts), sum(counts))
    found = file.cosines(query, len(counts), sum(counts)).largest(5)
    assert 0 in found
    assert len(found) >= 5


def test_few_vectors_are_compared_for_few_rows_and_all_of_them_once_for_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = filled(tmp_path, [1] * ROWS)
    with_graph(file, ROWS - 100, ROWS - 100)
    products, looked_at = vectors.dot_products, list[int]()

    def noted(some: np.ndarray, query: np.ndarray) -> np.ndarray:
        looked_at.append(len(some))
        return products(some, query)

    monkeypatch.setattr(vectors, "dot_products", noted)
    query = clustered(1, 8)[0]
    exact = file.cosines(query, ROWS, ROWS, exact=True)
    del looked_at[:]
    near = file.cosines(query, ROWS, ROWS)
    assert near.of(np.arange(20)).tolist() == exact.of(np.arange(20)).tolist()
    assert looked_at == [20]
    assert len(near.largest(10)) >= 10
    assert looked_at == [20, 100, 40], (
        "all that came after the graph, and twice as many as are wanted of both"
    )
    assert near.of(np.arange(ROWS)).tolist() == exact.of(np.arange(ROWS)).tolist()
    assert near.of(np.arange(20)).tolist() == exact.of(np.arange(20)).tolist()
    assert near.largest(10).tolist() == exact.largest(10).tolist()
    assert looked_at == [20, 100, 40, ROWS]
    many = file.cosines(query, ROWS, ROWS).largest(ROWS // 8)
    assert many.tolist() == exact.largest(ROWS // 8).tolist()
    assert looked_at == [20, 100, 40, ROWS, ROWS]


def test_a_folder_in_place_of_a_graph_file_is_not_a_graph(tmp_path: Path) -> None:
    place = tmp_path / "graph-x.usearch"
    place.mkdir()
    file = GraphFile(place.name, place.stat().st_size, 0, ROWS, 320)
    assert vector_graph.graph_exists(str(tmp_path), file)
    assert not vector_graph.is_whole(str(tmp_path), file)


def test_a_graph_file_on_disk_has_the_recorded_name_size_and_check_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, fsync, file = list[bytes](), os.fsync, filled(tmp_path, [1] * 500)

    def noted(handle: int) -> None:
        fsync(handle)
        synced.append((tmp_path / "graph-t.usearch").read_bytes())

    monkeypatch.setattr(os, "fsync", noted)
    made = make_graph(file.folder, file.stored(500), "t", None, 1)
    assert synced == [(tmp_path / made.name).read_bytes()]
    assert (made.size, made.check, made.slots) == (len(synced[0]), zlib.crc32(synced[0]), 500)
    assert vector_graph.is_whole(file.folder, made)
    for other in (made._replace(check=made.check + 1), made._replace(size=made.size + 1)):
        assert not vector_graph.is_whole(file.folder, other)
        with pytest.raises(ValueError, match=rf"^{made.name} is damaged"):
            vector_graph.VectorGraph(file.folder, other, WIDTH)
    with pytest.raises(ValueError, match=rf"^{made.name} is of another kind"):
        vector_graph.VectorGraph(file.folder, made, WIDTH + 1)
    assert vector_graph.graph_exists(file.folder, made._replace(name="graph-gone")) is False
    with pytest.raises(OSError, match=r"graph-t\.usearch: "):
        make_graph(str(tmp_path / "nowhere"), file.stored(500), "t", None, 1)


def test_vectors_of_deleted_rows_are_in_no_graph(tmp_path: Path) -> None:
    file = filled(tmp_path, [1] * 500)
    gone = [*range(0, 500, 3)]
    file.clear(gone, 500, 500)
    made = make_graph(file.folder, file.stored(500), "t", None, 1)
    found = vector_graph.VectorGraph(file.folder, made, WIDTH).nearest(file.stored(500)[1], 500)
    assert found.dtype == np.intp
    assert sorted(found.tolist()) == sorted({*range(500)} - {*gone})
    file.clear([*range(500)], 500, 500)
    none = make_graph(file.folder, file.stored(500), "n", None, 1)
    assert none == GraphFile("graph-n.usearch", 0, 0, 500, 0)


def test_a_search_visits_as_many_vectors_as_the_graph_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = filled(tmp_path, [1] * ROWS)
    made = make_graph(file.folder, file.stored(ROWS), "t", None, 1)
    queries = vectors.quantise(clustered(40, 77))
    exact = [int(vectors.dot_products(file.stored(ROWS), query).argmax()) for query in queries]
    few, all_of_them = (
        vector_graph.VectorGraph(file.folder, made._replace(expansion=expansion), WIDTH)
        for expansion in (1, ROWS)
    )
    right = [
        sum(graph.nearest(query, 1)[0] == place for query, place in zip(queries, exact, strict=True))
        for graph in (few, all_of_them)
    ]
    assert right[0] < 30 < right[1], "of 40: rounded vectors differ in length, so not all"
    monkeypatch.setattr(vector_graph, "_MANY", 500)
    monkeypatch.setattr(vector_graph, "_EXPANSIONS", (200,))
    monkeypatch.setattr(vector_graph, "_EXPANSIONS_OF_MANY", (100,))
    for slots, expansion in ((499, 200), (500, 100)):
        assert make_graph(file.folder, file.stored(slots), "s", None, 1).expansion == expansion
    assert make_graph(file.folder, file.stored(1), "one", None, 1).expansion == 200
    monkeypatch.setattr(vector_graph, "_EXPANSIONS_OF_MANY", (48, ROWS))
    monkeypatch.setattr(vector_graph, "_ENOUGH_OF_MANY", 0.98)
    random = np.random.default_rng(3).normal(size=(ROWS, WIDTH)).astype("float32")
    random = vectors.quantise(random / np.linalg.norm(random, axis=1)[:, None])
    assert make_graph(file.folder, random, "hard", None, 1).expansion == ROWS


def test_all_graphs_but_one_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("graph-1.usearch", "graph-2.usearch", "graph-3.usearch", "vectors.i8"):
        (tmp_path / name).touch()
    (tmp_path / "graph-folder").mkdir()
    vector_graph.remove_graphs(str(tmp_path), keep="graph-2.usearch")
    assert sorted(os.listdir(tmp_path)) == ["graph-2.usearch", "graph-folder", "vectors.i8"]
    for _ in range(2):
        vector_graph.remove_graph(str(tmp_path), GraphFile("graph-2.usearch", 0, 0, 0, 1))
        assert sorted(os.listdir(tmp_path)) == ["graph-folder", "vectors.i8"]


def test_a_graph_of_vectors_of_another_length_is_not_continued(tmp_path: Path) -> None:
    file, other = filled(tmp_path, [1] * 500), VectorFile(str(tmp_path / "other"), 2 * WIDTH)
    before = make_graph(file.folder, file.stored(500), "t", None, 1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / before.name).write_bytes((tmp_path / before.name).read_bytes())
    other.write(0, 0, clustered(1000, 2).reshape(500, -1) / np.sqrt(2), [1] * 500)
    made = make_graph(other.folder, other.stored(500), "u", before, 1)
    graph = vector_graph.VectorGraph(other.folder, made, 2 * WIDTH)
    assert len(graph.nearest(other.stored(500)[0], 500)) == 500


def test_a_graph_is_continued_with_the_vectors_that_came_after_it(tmp_path: Path) -> None:
    file = filled(tmp_path, [1] * ROWS)
    first = with_graph(file, 2000, 2000)
    second = with_graph(file, ROWS, ROWS, first)
    assert (first.slots, second.slots) == (2000, ROWS)
    assert second.size > first.size
    assert share_found(file, ROWS, ROWS) >= 0.97


@pytest.mark.slow
def test_vectors_without_neighbourhoods_get_no_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_graph, "_EXPANSIONS", (48, 64))  # among so few, more find all
    file = VectorFile(str(tmp_path), 256)
    random = np.random.default_rng(3).normal(size=(6000, 256)).astype("float32")
    file.write(0, 0, random / np.linalg.norm(random, axis=1)[:, None], [1] * 6000)
    made = make_graph(file.folder, file.stored(6000), "random", None, 2)
    assert (made.expansion, made.size, os.path.exists(tmp_path / made.name)) == (0, 0, False)


@sampled("damage", ["a byte", "cut", "gone", "other text"], 2)
def test_a_damaged_graph_is_never_opened_and_all_vectors_are_searched(tmp_path: Path, damage: str) -> None:
    file = filled(tmp_path, [1] * ROWS)
    made = make_graph(file.folder, file.stored(ROWS), "t", None, 1)
    path = tmp_path / made.name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    changed = {"a byte": bytes(content), "cut": bytes(content[:-9]), "other text": b"x" * len(content)}
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(changed[damage])
    file.graph_file = made
    query = clustered(1, 9)[0]
    for _ in range(3):
        near = file.cosines(query, ROWS, ROWS)
        assert not file.wait_for_graph()
        assert not isinstance(near, GraphCosines)
    assert not path.exists()  # so that another is made
    again = with_graph(file, ROWS, ROWS, made)
    assert share_found(file, ROWS, ROWS) >= 0.97
    assert again.size == made.size


def test_a_graph_cut_after_it_was_opened_is_no_longer_searched(tmp_path: Path) -> None:
    file = filled(tmp_path, [1] * ROWS)
    made = with_graph(file, ROWS, ROWS)
    os.truncate(tmp_path / made.name, made.size - 4096)
    assert not isinstance(file.cosines(clustered(1, 9)[0], ROWS, ROWS), GraphCosines)


@pytest.fixture
def opened_graphs(monkeypatch: pytest.MonkeyPatch) -> list[GraphFile]:
    """Return the graphs that were opened, or failed to open."""
    found: list[GraphFile] = []
    graph = vector_graph.VectorGraph

    def noted(folder: str, file: GraphFile, width: int) -> vector_graph.VectorGraph:
        found.append(file)
        return graph(folder, file, width)

    monkeypatch.setattr(vector_graph, "VectorGraph", noted)
    return found


def is_asked_with_graph(file: VectorFile) -> bool:
    return isinstance(file.cosines(clustered(1, 9)[0], ROWS, ROWS), GraphCosines)


def test_a_graph_is_opened_at_the_second_question_once_and_not_beside_another(
    tmp_path: Path, opened_graphs: list[GraphFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = filled(tmp_path, [1] * ROWS)
    first = make_graph(file.folder, file.stored(ROWS), "1", None, 1)
    second = make_graph(file.folder, file.stored(ROWS), "2", None, 1)
    go_on, is_whole = threading.Event(), vector_graph.is_whole
    monkeypatch.setattr(vector_graph, "is_whole", lambda *arguments: go_on.wait(60) and is_whole(*arguments))
    file.graph_file = first
    assert not is_asked_with_graph(file)
    assert not file.wait_for_graph()
    assert opened_graphs == []
    for named in (first, first, second):
        file.graph_file = named
        assert not is_asked_with_graph(file)
    go_on.set()
    assert not file.wait_for_graph()
    assert opened_graphs == [first]
    assert not is_asked_with_graph(file)
    assert file.wait_for_graph()
    assert is_asked_with_graph(file)
    assert opened_graphs == [first, second]


def test_a_graph_that_fails_to_open_is_not_tried_at_each_query(
    tmp_path: Path, opened_graphs: list[GraphFile]
) -> None:
    file = filled(tmp_path, [1] * ROWS)
    gone = GraphFile("graph-gone.usearch", 9, 9, ROWS, 320)
    for named in (gone._replace(expansion=0), gone._replace(slots=ROWS + 1), gone):
        file.graph_file = named
        for _ in range(4):
            assert not is_asked_with_graph(file)
            assert not file.wait_for_graph()
    assert opened_graphs == [gone]


def test_all_vectors_are_searched_while_no_thread_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = filled(tmp_path, [1] * ROWS)
    file.graph_file = make_graph(file.folder, file.stored(ROWS), "1", None, 1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        for _ in range(3):
            assert not is_asked_with_graph(file)
            assert not file.wait_for_graph()
    assert not is_asked_with_graph(file)
    assert file.wait_for_graph()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "3",
        "[]",
        '["graph-/../x",1,2,3,4]',
        '["vectors.i8",1,2,3,4]',
        '["graph-x",1,"y",3,4]',
    ],
)
def test_invalid_metadata_names_no_graph(text: str) -> None:
    assert read_graph_file(text) is None


def test_a_packed_graph_file_is_read_back() -> None:
    file = GraphFile("graph-1.usearch", 5, 6, 7, 8)
    assert read_graph_file(file.packed()) == file


# In a store.

SUBJECTS = ("queue", "parser", "cache", "session", "broker", "lock", "index", "timeout")


WORDS = (
    "river copper window garden market engine letter bridge winter sugar planet forest mirror candle harbour",
    "violin desert pepper tunnel blanket camera island feather hammer ladder magnet needle orchard pillow rocket",
)


def text(number: int) -> str:
    return f"The {SUBJECTS[number % 8]} fails: {' '.join(Random(number).sample(' '.join(WORDS).split(), 6))}."


def store_with_graph(root: Path, home: Path, count: int = 120) -> Engram:
    file = home / ".config" / "engram" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[embedding]\ngraph = 100\n")
    engram = open_test_store(root)
    for number in range(count):
        engram.record(text(number), category="FACT")
    engram.refresh()
    assert is_graph_due(engram.store)
    assert make_store_graph(engram.store)
    return engram


def asked(engram: Engram) -> list[list[str]]:
    return [[one.lore.id for one in engram.query(f"{one} fails", k=5).lore] for one in SUBJECTS]


def test_answers_are_the_same_with_a_graph_without_it_and_after_a_rebuild(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_FEW_OF", 1)  # look at few even among few
    monkeypatch.setattr(catch_up, "EXACT_LIMIT", -1)  # as in a large store: one deleted text is no reason
    used = Mock(wraps=vectors.GraphCosines)
    monkeypatch.setattr(vectors, "GraphCosines", used)
    with store_with_graph(tmp_path / "store", home) as engram:
        asked(engram)
        generation = engram.store.index.generation
        assert generation is not None
        assert generation.vectors is not None
        assert generation.vectors.wait_for_graph()
        gone = asked(engram)[0][0]
        engram.forget(gone)
        for number in range(200, 204):
            engram.record(text(number), category="FACT")
        engram.refresh()
        assert engram.store.index.generation is generation
        before = used.call_count
        with_graph = asked(engram)
        assert used.call_count >= before + len(SUBJECTS)
        assert not any(gone in answer for answer in with_graph)
        generation.vectors.graph_file = None
        assert asked(engram) == with_graph
        refresh(engram.store, rebuild="asked for")
        rebuilt = engram.store.index.generation
        assert rebuilt is not None
        assert rebuilt.graph_file is None
        assert asked(engram) == with_graph


def test_the_background_makes_a_graph_and_makes_a_damaged_one_again(tmp_path: Path, home: Path) -> None:
    with store_with_graph(tmp_path / "store", home) as engram:
        generation = engram.store.index.look()
        assert generation is not None
        first = generation.graph_file
        assert first is not None
        assert not is_graph_due(engram.store)
        assert generation.verify() == []
        path = Path(generation.folder, first.name)
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert generation.verify() == [f"{first.name}: contents changed since they were written"]
        path.unlink()
        left = Path(
            generation.folder, "graph-9-9.usearch"
        )  # by a process that was killed before the catalog named it
        left.write_bytes(content)
        tidy(engram.store)
        assert not left.exists()
        generation = engram.store.index.look()
        assert generation is not None
        second = generation.graph_file
        assert second is not None
        assert Path(generation.folder, second.name).stat().st_size == second.size
        assert generation.verify() == []


def test_a_graph_that_cannot_be_recorded_is_an_error(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store_with_graph(tmp_path / "store", home) as engram:
        generation = engram.store.index.look()
        assert generation is not None
        assert generation.graph_file is not None
        Path(generation.folder, generation.graph_file.name).unlink()
        monkeypatch.setattr(GenerationWriter, "commit", Mock(side_effect=OSError(28, "No space left")))
        with pytest.raises(OSError, match="No space left"):
            make_store_graph(engram.store)


@pytest.mark.slow
def test_usearch_is_imported_only_where_there_is_a_graph(tmp_path: Path, home: Path) -> None:
    code = """
import sys, engram
with engram.open(sys.argv[1], background=False) as store:
    for number in range(3):
        store.query("the parser fails")
        store.store.index.generation.vectors.wait_for_graph()
    print("usearch" in sys.modules)
"""
    for name, count in (("small", 5), ("large", 120)):
        root = tmp_path / name
        if count > 100:
            store_with_graph(root, home, count).close()
        else:
            with open_test_store(root) as engram:
                for number in range(count):
                    engram.record(text(number), category="FACT")
        found = subprocess.run(
            [sys.executable, "-c", code, str(root)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
            text=True,
        )
        assert found.stdout.strip() == str(name == "large")


@pytest.mark.parametrize("first", ["", "import usearch.index; "])
def test_a_graph_is_made_in_a_process_that_may_read_texts_with_onnxruntime(
    tmp_path: Path, first: str
) -> None:
    made = f"{first}from engram.adapters.embed import onnx_encoder; from engram.adapters.index.vector_graph import _open_graph; "
    command = [
        sys.executable,
        "-c",
        f"{made}_open_graph({str(tmp_path)!r}, None, 8); print(onnx_encoder.must_not_load())",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    has_it = find_spec("onnxruntime") is not None
    assert done.stdout.strip() == str(bool(first) or not has_it)
