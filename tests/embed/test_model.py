"""Vectors equal those of model2vec, for the bundled model and for every form of model that it reads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from effort import is_thorough
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from engram.adapters.embed.provider import BUNDLED_FOLDER, open_embedder
from engram.domain.text.scripts import not_latin

if TYPE_CHECKING:
    from model2vec import StaticModel

    from engram.adapters.embed.protocols import Embedder

TEXTS = [
    "Never amend a commit that was pushed",
    "ECONNRESET in requests.get(url, timeout=5): retry with exponential backoff",
    "naïve café — “quoted” 记忆",
    "git [UNK] [PAD] push",
    "",
    "  \n",
    "𓀀",
    "word " * 9000,
    "def embed(self, texts): return [self.table[i] for i in self.ids(texts)]\n" * 200,
]


def opened(provider: str, path: Path | None = None) -> Embedder:
    embedder = open_embedder(provider, str(path) if path else None)
    assert embedder is not None
    return embedder


@cache
def bundled() -> Embedder:
    return opened("bundled")


def model2vec_model(folder: Path) -> StaticModel:
    """What model2vec itself reads from a folder; a missing one would send it to a hub."""
    from model2vec import StaticModel

    assert folder.is_dir()
    return StaticModel.from_pretrained(folder)


def reference(folder: Path, texts: list[str]) -> np.ndarray[Any, Any]:
    vectors: np.ndarray[Any, Any] = model2vec_model(folder).encode(texts, max_length=None, normalize=True)
    return vectors


@pytest.mark.slow
def test_bundled_vectors_equal_model2vec_on_all_kinds_of_text() -> None:
    modules = sorted(Path(__file__).parents[1].rglob("test_*.py"))[:: 1 if is_thorough() else 4]
    project = [path.read_text(encoding="utf-8") for path in modules]
    texts = [*TEXTS, *project, Path(BUNDLED_FOLDER, "README.md").read_text(encoding="utf-8")]
    known = [not_latin().sub(" ", text) for text in texts]  # of the rest the model knows no words
    difference = np.abs(bundled().embed(texts) - reference(Path(BUNDLED_FOLDER), known))
    assert difference.max() <= 1e-6


def test_vectors_are_float32_rows_of_length_one_or_zero() -> None:
    vectors = bundled().embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), bundled().dimensions) == (9, 256)
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths == pytest.approx([1, 1, 1, 1, 0, 0, 0, 1, 1])


def test_no_texts_give_no_rows() -> None:
    assert bundled().embed([]).shape == (0, 256)


@given(st.lists(st.text(max_size=40), max_size=5))
def test_a_text_has_one_vector_alone_and_among_others(texts: list[str]) -> None:
    vectors = bundled().embed(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(bundled().embed_one(text), vector)
        assert np.linalg.norm(vector) == pytest.approx(1 if bundled()._model().tokenizer.ids(text) else 0)


def test_a_question_is_nearer_to_its_answer_than_to_other_notes() -> None:
    notes = [
        "Rebasing a branch that others pulled rewrites its history; merge instead.",
        "Postgres needs VACUUM after a bulk delete, or the table keeps its size on disk.",
        "Set a timeout on every HTTP request: the default of requests is to wait for ever.",
    ]
    questions = ["git history rewritten after rebase", "database table does not shrink", "network call hangs"]
    assert (bundled().embed(questions) @ bundled().embed(notes).T).argmax(axis=1).tolist() == [0, 1, 2]


def test_unrelated_notes_are_far_from_the_threshold_of_a_duplicate() -> None:
    lines = Path(BUNDLED_FOLDER, "README.md").read_text(encoding="utf-8").splitlines()
    vectors = bundled().embed([line for line in lines if len(line) > 60])
    similarity = vectors @ vectors.T - 2 * np.eye(len(vectors))
    assert similarity.max() < 0.92


def test_threads_that_share_an_unloaded_embedder_get_the_same_vectors() -> None:
    fresh = opened("bundled")
    expected = bundled().embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: fresh.embed(TEXTS), range(12)):
            assert np.array_equal(vectors, expected)


# Folders that model2vec saved.

WORDS = ["[PAD]", "[UNK]", *"abcdefghij", *(f"##{letter}" for letter in "abcdefghij"), "bad", "##egg", "dice"]
SAMPLES = ["bad dice", "badegg abc", "j i h . [UNK] zzz", "", "zzz", "Bad BAD é bad", "a b badegg " * 40]


def small_tokenizer() -> Tokenizer:
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]"])
    return tokenizer


def save(folder: Path, vectors: np.ndarray[Any, Any], **options: Any) -> None:
    from model2vec import StaticModel

    StaticModel(vectors, small_tokenizer(), **{"normalize": True, **options}).save_pretrained(folder)


def random_vectors(dtype: str, rows: int = len(WORDS)) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(7).normal(size=(rows, 24))
    return (values * 40).clip(-127, 127).astype(dtype) if dtype == "int8" else values.astype(dtype)


# model2vec rounds each mean of a float16 model to float16, so that far it differs from the exact one
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("int8", 1e-6), ("float32", 1e-6), ("float64", 1e-6), ("float16", 2e-3)]
)
def test_a_saved_model_of_each_number_format_gives_model2vecs_vectors(
    tmp_path: Path, dtype: str, tolerance: float
) -> None:
    save(tmp_path, random_vectors(dtype))
    embedder = opened("path", tmp_path)
    assert embedder.dimensions == 24
    vectors = embedder.embed(SAMPLES)
    assert vectors.dtype == np.float32
    assert np.abs(vectors - reference(tmp_path, SAMPLES)).max() <= tolerance
    assert np.array_equal(vectors, np.stack([embedder.embed_one(text) for text in SAMPLES]))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_model_with_a_quantised_vocabulary_gives_model2vecs_vectors(
    tmp_path: Path, dtype: str, weighted: bool
) -> None:
    generator = np.random.default_rng(8)
    weights = generator.uniform(0.1, 3, len(WORDS)) if weighted else None
    mapping = generator.integers(0, 6, len(WORDS))
    save(tmp_path, random_vectors(dtype, rows=6), weights=weights, token_mapping=mapping)
    vectors = opened("path", tmp_path).embed(SAMPLES)
    assert np.abs(vectors - reference(tmp_path, SAMPLES)).max() <= 1e-6


@pytest.mark.parametrize("inner", ["", "0_StaticEmbedding"])
def test_a_folder_of_sentence_transformers_gives_model2vecs_vectors(tmp_path: Path, inner: str) -> None:
    from safetensors.numpy import save_file

    folder = tmp_path / inner
    folder.mkdir(exist_ok=True)
    save_file({"embedding.weight": random_vectors("float32")}, folder / "model.safetensors")
    small_tokenizer().save(str(folder / "tokenizer.json"))
    (tmp_path / "config_sentence_transformers.json").write_text("{}", encoding="utf-8")
    embedder = opened("path", tmp_path)
    assert embedder.dimensions == 24
    assert np.abs(embedder.embed(SAMPLES) - reference(tmp_path, SAMPLES)).max() <= 1e-6


def test_a_very_long_text_has_the_direction_of_the_exact_mean(tmp_path: Path) -> None:
    vectors = random_vectors(
        "float32"
    )  # there model2vec itself is off by 2e-5: it adds row after row in float32
    save(tmp_path, vectors)
    embedder, text = opened("path", tmp_path), "a bad j " * 3000
    exact = vectors.astype("float64")[embedder._model().tokenizer.ids(text)].mean(axis=0)
    assert np.abs(embedder.embed_one(text) - exact / np.linalg.norm(exact)).max() <= 1e-6


def test_vectors_have_length_one_even_when_the_model_asks_for_none(tmp_path: Path) -> None:
    save(tmp_path, random_vectors("float32"), normalize=False)
    assert model2vec_model(tmp_path).normalize is False
    lengths = np.linalg.norm(opened("path", tmp_path).embed(["bad dice", "zzz"]), axis=1)
    assert lengths == pytest.approx([1, 0])


def test_a_model_with_nan_or_infinity_gives_no_such_vector(tmp_path: Path) -> None:
    vectors = random_vectors("float32")
    vectors[WORDS.index("bad")] = np.nan
    vectors[WORDS.index("dice")] = np.inf
    save(tmp_path, vectors)
    assert not opened("path", tmp_path).embed(["bad", "dice", "bad a"]).any()


def test_the_bundled_folder_has_the_same_vectors_through_model2vec_as_through_our_loader() -> None:
    copy = opened("path", Path(BUNDLED_FOLDER))
    assert copy.identity != bundled().identity
    assert np.array_equal(copy.embed(TEXTS), bundled().embed(TEXTS))
