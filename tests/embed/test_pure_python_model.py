"""What the first query of a process computes without numpy is what later ones compute with it."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prepared import dedicated

from engram.adapters.embed.provider import BundledEmbedder, open_embedder
from engram.adapters.embed.pure_python_model import PurePythonModel
from engram.adapters.index.vectors import VectorFile, quantise

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = "why does the upload retry after a deploy?"
TEXTS = (
    "Retry the upload once: the first attempt after a deploy meets a cold cache.",
    "The palette of the settings page was chosen for contrast. " * 9 + "Uploads are retried by the client.",
    "",
    "größer als 3 µm",
)
WORDS = (
    "retry",
    "the",
    "queue",
    "consumer",
    "naïve",
    "记忆",
    "fetch_user",
    "E1184",
    "[PAD]",
    "zanthoxylum",
    "\n",
)
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
COMPARES = """
import sys, engram
from engram.usecases.similarity.near_duplicates import find_similar
with engram.open(sys.argv[1], background=False) as store:
    lore = store.record("The queue consumer must retry after a timeout.", category="FACT").lore
    new = lore._replace(id="", content="The queue consumer must retry after one timeout.")
    [twin] = find_similar(store.store, new)
    print(twin.similarity, "numpy" in sys.modules)
    for number in range(12):
        find_similar(store.store, new)
    print("numpy" in sys.modules)
"""


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    found = open_embedder("bundled")
    assert isinstance(found, BundledEmbedder)
    return found


@pytest.fixture(scope="module")
def plain(embedder: BundledEmbedder) -> PurePythonModel:
    return PurePythonModel(embedder._file, embedder._model().tokenizer)


def test_directions_and_cosines_of_texts_are_the_same(
    embedder: BundledEmbedder, plain: PurePythonModel
) -> None:
    for text in (QUESTION, *TEXTS):
        asked = embedder.embed_one(text)
        assert plain.direction(text) == (quantise(asked).tolist() if asked.any() else [])
    one, *rest = embedder.embed([QUESTION, *TEXTS])
    cosines = plain.similarities(QUESTION, TEXTS)
    assert cosines == pytest.approx([float(one @ other) for other in rest], abs=1e-5)


def test_the_nearness_of_tokens_to_a_query_is_the_same(
    embedder: BundledEmbedder, plain: PurePythonModel
) -> None:
    words = QUESTION.strip("?").split()
    weights = [1.0 + number for number in range(len(words))]
    stored = embedder.embed_available(TEXTS, [1] * len(TEXTS), len(TEXTS))[2]
    wanted, found = embedder.nearness(words, weights, stored), plain.nearness(words, weights, stored)
    assert found.shares == pytest.approx(wanted.query.shares.tolist(), abs=1e-6)
    assert found.words == wanted.query.words.tolist()
    assert found.lengths == wanted.lengths.tolist()
    for mine, theirs in ((found.stretch, wanted.nearest[0]), (found.whole, wanted.nearest[1])):
        assert pytest.approx(theirs, abs=1e-3) == np.array(mine).T
    with pytest.raises(ValueError, match="does not have"):
        plain.nearness(words, weights, [b"\xff\xff"])


def test_the_nearest_rows_of_an_index_are_the_same(tmp_path: Path) -> None:
    shuffled = np.random.default_rng(7)
    counts = [1 + random.Random(7).randrange(3) for _ in range(400)]
    vectors = shuffled.standard_normal((sum(counts), 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    file = VectorFile(str(tmp_path), 32)
    file.write(0, 0, vectors, counts)
    query = vectors[5] + vectors[90]
    query /= np.linalg.norm(query)
    wanted = file.cosines(query, 400, sum(counts))
    found = file.plain_cosines(quantise(query).tolist(), 400, sum(counts))
    assert found.of(range(400)) == pytest.approx(wanted.of(np.arange(400)).tolist(), abs=1e-6)
    for count in (1, 10, 399, 500):
        best = sorted(range(400), key=lambda row: -found.of([row])[0])[:count]
        assert set(best) <= set(found.largest(count))
    with pytest.raises(ValueError, match=r"order|short"):
        file.plain_cosines(quantise(query).tolist(), 400, sum(counts) + 1)


@given(texts, st.lists(texts, max_size=3))
def test_cosines_are_those_of_the_vectors(
    embedder: BundledEmbedder, plain: PurePythonModel, text: str, others: list[str]
) -> None:
    found = plain.similarities(text, others)
    assert found == pytest.approx(embedder.similarities(text, others), abs=2e-6)


def test_a_long_text_costs_no_accuracy(plain: PurePythonModel) -> None:
    long = "retry the queue consumer " * 160
    assert plain.similarities(long, ["retry the queue consumer", ""]) == pytest.approx([1.0, 0.0])


def test_a_near_duplicate_is_reported_without_numpy_in_the_first_calls(tmp_path: Path) -> None:
    dedicated(tmp_path / "store")
    done = subprocess.run(
        [sys.executable, "-c", COMPARES, str(tmp_path / "store")], capture_output=True, text=True, check=True
    )
    similarity, loaded, later = done.stdout.split()
    assert 0.85 <= float(similarity) <= 1
    assert (loaded, later) == ("False", "True")
