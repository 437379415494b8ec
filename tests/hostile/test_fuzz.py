"""The fuzzer, briefly and with a fixed seed: the corpora, and some thousand mutations of them."""

from __future__ import annotations

from pathlib import Path

from effort import sampled
from fuzz import Fuzzer


@sampled("seed", [1, 2])
def test_no_reader_fails_on_the_corpora_and_their_mutations(tmp_path: Path, seed: int) -> None:
    fuzzer = Fuzzer(tmp_path, seed)
    fuzzer.run(seconds=60, most=3000)
    assert not [(find.reader, find.trouble, find.raw[:300]) for find in fuzzer.finds]
    assert sum(fuzzer.runs.values()) == 3000
    assert set(fuzzer.runs) == set(fuzzer.readers)


def test_the_fuzzer_finds_a_reader_that_fails(tmp_path: Path) -> None:
    """Otherwise it would be useless."""
    fuzzer = Fuzzer(tmp_path, 1)
    fuzzer.readers["codec"] = lambda raw: raw.decode() and None  # type: ignore[func-returns-value]
    fuzzer.run(seconds=60, most=1500)
    assert {find.reader for find in fuzzer.finds} == {"codec"}
