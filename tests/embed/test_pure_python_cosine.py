"""The cosines of a few texts without numpy equal those with it, and nothing else of a first comparison needs numpy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prepared import dedicated

from engram.adapters.embed import pure_python_cosine
from engram.adapters.embed.provider import BundledEmbedder, open_embedder

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
from engram.usecases.similarity.near_duplicates import similar
with engram.open(sys.argv[1], background=False) as store:
    lore = store.record("The queue consumer must retry after a timeout.", category="FACT").lore
    new = lore._replace(id="", content="The queue consumer must retry after one timeout.")
    [twin] = similar(store.store, new)
    print(twin.similarity, "numpy" in sys.modules)
    for number in range(12):
        similar(store.store, new)
    print("numpy" in sys.modules)
"""


def bundled() -> BundledEmbedder:
    found = open_embedder("bundled")
    assert isinstance(found, BundledEmbedder)
    return found


EMBEDDER = bundled()


def without_numpy(text: str, others: list[str]) -> list[float]:
    return pure_python_cosine.similarities(EMBEDDER._file, EMBEDDER._model().tokenizer, text, others)


@given(texts, st.lists(texts, max_size=3))
def test_cosines_are_those_of_the_vectors(text: str, others: list[str]) -> None:
    found = without_numpy(text, others)
    assert found == pytest.approx(EMBEDDER.similarities(text, others), abs=2e-6)


def test_a_long_text_costs_no_accuracy() -> None:
    long = "retry the queue consumer " * 160
    assert without_numpy(long, ["retry the queue consumer", ""]) == pytest.approx([1.0, 0.0])


def test_a_near_duplicate_is_reported_without_numpy_in_the_first_calls(tmp_path: Path) -> None:
    dedicated(tmp_path / "store")
    done = subprocess.run(
        [sys.executable, "-c", COMPARES, str(tmp_path / "store")], capture_output=True, text=True, check=True
    )
    similarity, loaded, later = done.stdout.split()
    assert 0.85 <= float(similarity) <= 1
    assert (loaded, later) == ("False", "True")
