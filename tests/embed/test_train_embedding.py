"""The tool that rebuilds the bundled model: its texts, its gradients, and a table that model2vec reads the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engram.adapters.embed.provider import BUNDLED_FOLDER, open_embedder

if TYPE_CHECKING:
    from types import ModuleType

TOOL = Path(__file__).resolve().parents[2] / "tools" / "train_embedding"


@pytest.fixture(autouse=True)
def _tool_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOL))


def module(name: str) -> ModuleType:
    import importlib

    return importlib.import_module(name)


def test_a_docstring_gives_its_code_and_its_rest(tmp_path: Path) -> None:
    source = '''
def wait(seconds):
    """Wait until the lock is free again. Not longer than asked.

    Raises TimeoutError when it was not.
    """
    return seconds


def short(x):
    """Too short."""
'''
    (tmp_path / "a.py").write_text(source)
    (tmp_path / "broken.py").write_text("def (")
    pairs = list(module("sources").docstrings(str(tmp_path)))
    assert [(pair.title, pair.kind) for pair in pairs] == [
        ("Wait until the lock is free again", "code"),
        ("Wait until the lock is free again", "rest"),
    ]
    assert "return seconds" in pairs[0].body
    assert '"""' not in pairs[0].body
    assert pairs[1].body == "wait: Raises TimeoutError when it was not."


def test_a_document_gives_its_sections_and_a_log_its_messages() -> None:
    sources = module("sources")
    text = "# Handling of broken pipes\nIntro.\n\n## Signals\nSIGPIPE ends a process.\n"
    assert [(pair.title, pair.body) for pair in sources.markdown(text)] == [
        ("Handling of broken pipes", "Intro."),
        ("Handling of broken pipes: Signals", "SIGPIPE ends a process."),
    ]
    body = (
        "The cache kept the handle of a file that was gone, so a later read returned what was there before."
    )
    log = f"Close the file first (#12)\n\n{body}\n\nSigned-off-by: A\n\0Bump\n\nshort\n\0"
    assert [(pair.title, pair.body) for pair in sources.commits(log)] == [("Close the file first", body)]


def test_the_bundled_sources_are_read_and_chosen_by_name() -> None:
    document = json.loads(Path(BUNDLED_FOLDER, "SOURCES.json").read_text(encoding="utf-8"))
    everything = module("sources").listed(document, [])
    assert len(everything) == len(document["sources"])
    [rich] = module("sources").listed(document, ["rich"])
    assert (rich.is_package, rich.short) == (True, "rich")
    assert all(source.licence for source in everything)


def texts(random: np.random.Generator, count: int) -> list[np.ndarray]:
    return [random.integers(0, 40, random.integers(1, 9)).astype(np.int32) for _ in range(count)]


@pytest.mark.parametrize("teacher", [False, True])
def test_the_gradients_are_those_of_the_loss(teacher: bool) -> None:
    contrast = module("contrast")
    random = np.random.default_rng(1)
    table = random.standard_normal((40, 8))
    titles, bodies = texts(random, 5), texts(random, 5)
    wanted = random.standard_normal((10, 6))
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    stage = contrast.Stage(1, 0.0, 10, teacher_weight=2.0)

    def loss(values: np.ndarray) -> tuple[float, list[np.ndarray], np.ndarray]:
        if not teacher:
            return contrast._contrast(values, titles, bodies)  # type: ignore[no-any-return]
        taught = (np.arange(5), wanted[:5], wanted[5:])
        return contrast._imitate(values, titles, bodies, taught, stage, np.random.default_rng(2))  # type: ignore[no-any-return]

    _, seen, by_text = loss(table)
    rows, gradient = contrast._to_rows(seen, by_text)
    slopes, written = [], []
    for row in range(0, len(rows), 2):
        for column in (0, 3, 6):
            moved = [table.copy(), table.copy()]
            moved[0][rows[row], column] += 1e-2
            moved[1][rows[row], column] -= 1e-2
            slopes.append((loss(moved[0])[0] - loss(moved[1])[0]) / 2e-2)
            written.append(gradient[row, column])
    assert np.corrcoef(slopes, written)[0, 1] > 0.98  # the losses are sums in float32
    assert np.linalg.norm(written) == pytest.approx(np.linalg.norm(slopes), rel=0.1)


def test_training_brings_pairs_together() -> None:
    contrast = module("contrast")
    random = np.random.default_rng(0)
    table = random.standard_normal((400, 16)).astype(np.float32)
    titles = [np.array([i], np.int32) for i in range(200)]
    bodies = [np.array([200 + i, 200 + (i + 1) % 200], np.int32) for i in range(200)]

    def found() -> float:
        one, other = contrast.means(table, titles), contrast.means(table, bodies)
        one /= np.linalg.norm(one, axis=1, keepdims=True)
        other /= np.linalg.norm(other, axis=1, keepdims=True)
        return float(((one @ other.T).argmax(axis=1) == np.arange(200)).mean())

    before = found()
    contrast.train(table, titles, bodies, np.zeros(200, np.intp), contrast.Stage(60, 0.1, 100), random)
    assert before < 0.1
    assert found() > 0.9


def test_frequent_words_are_added_to_the_vocabulary(tmp_path: Path) -> None:
    vocabulary, pair = module("word_pieces"), module("sources").Pair
    shutil.copy(Path(BUNDLED_FOLDER, "tokenizer.json"), tmp_path)
    settings = vocabulary.read_tokenizer(str(tmp_path))
    assert list(settings["model"]["vocab"])[:2] == ["[PAD]", "[UNK]"]
    said = [pair(f"The frobnicatorx number {i}", "once quuxify", "code") for i in range(9)]
    assert vocabulary.frequent_words(settings, said) == ["frobnicatorx", "quuxify"]
    grown = vocabulary.with_words(settings, [*vocabulary.words_of(settings), "quuxify"])
    assert grown["model"]["vocab"]["quuxify"] == len(settings["model"]["vocab"])


def test_a_saved_model_gives_the_same_vectors_with_model2vec_and_here(tmp_path: Path) -> None:
    from model2vec import StaticModel

    vocabulary, train = module("word_pieces"), module("train")
    shutil.copy(Path(BUNDLED_FOLDER, "tokenizer.json"), tmp_path)
    settings = vocabulary.read_tokenizer(str(tmp_path))
    words = vocabulary.words_of(settings)[:3000]
    table = np.random.default_rng(0).standard_normal((len(words), 256)).astype(np.float32)
    folder = tmp_path / "model"
    train.save(str(folder), vocabulary.with_words(settings, words), table, {"sources": []})
    said = ["what the note said about a git commit", "", "x = {y: [1, 2]}", "naïve ünïcode"]
    mine = open_embedder("path", str(folder))
    assert mine is not None
    theirs = StaticModel.from_pretrained(folder).encode(said, max_length=None, normalize=True)
    assert np.abs(mine.embed(said) - theirs).max() <= 1e-6
