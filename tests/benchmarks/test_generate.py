"""Generated stores: deterministic by seed, small ones are the beginning of large ones, with notes like real ones."""

from __future__ import annotations

import re
import statistics
from itertools import pairwise
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


def files_of(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.md")}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    import generate

    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        generate.generate(str(tmp_path / name), 40, seed)
    one, again, other = (files_of(tmp_path / name) for name in ("one", "again", "other"))
    assert len(one) == 40
    assert one == again
    assert not one.keys() & other.keys()


def test_a_small_store_is_the_beginning_of_a_large_one(tmp_path: Path) -> None:
    import generate

    generate.generate(str(tmp_path / "small"), 10, 1)
    generate.generate(str(tmp_path / "large"), 30, 1)
    assert files_of(tmp_path / "small").items() <= files_of(tmp_path / "large").items()


def test_every_generated_file_is_indexed_without_problems(tmp_path: Path) -> None:
    import generate

    import engram

    root = tmp_path / "store"
    generate.generate(str(root), 60, 1)
    with engram.open(root, background=False) as store:
        done = store.refresh()
        assert (done.added, done.problems) == (60, 0)
        generation = store.store.index.look()
        assert generation is not None
        assert generation.catalog.count() == 60


def test_notes_have_realistic_lengths_and_a_large_vocabulary() -> None:
    import generate

    writer = generate.Writer(1)
    lore = [writer.lore(number) for number in range(1500)]
    lengths = [len(item.content) for item in lore]
    assert 450 < statistics.median(lengths) < 1000
    assert max(lengths) <= 4000
    assert max(lengths) > 2500
    assert len({item.category for item in lore}) > 10
    assert len({item.created_at.date() for item in lore}) > 500
    words = {word for item in lore for word in re.findall(r"\S+", item.content)}
    assert len(words) > 15_000


def test_the_vocabulary_has_more_than_twenty_thousand_words_of_falling_weight() -> None:
    from random import Random

    import vocabulary

    words, weights = vocabulary.build(Random(1))
    assert len(words) == len(set(words)) > 20_000
    steps = [after - before for before, after in pairwise(weights)]
    assert steps == sorted(steps, reverse=True)


def test_questions_are_distinct_and_repeatable() -> None:
    import generate

    assert len(set(generate.questions(300, 1))) == 300
    assert generate.questions(20, 1) == generate.questions(20, 1)


def test_the_command_makes_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import generate

    assert generate.main([str(tmp_path / "made"), "--count", "5"]) == 0
    assert "5 entries" in capsys.readouterr().out
    assert len(files_of(tmp_path / "made")) == 5
