"""The weights of features of a pair: as learnt from the development half."""

from __future__ import annotations

from pathlib import Path

import pytest
from effort import is_thorough
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.similarity.pairs import rarity

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not is_thorough(), reason="takes seconds; ./test --thorough runs it")
def test_the_weights_are_what_the_tool_learns_from_the_development_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(PROJECT / "tools")
    import fit_pairs

    from engram.domain.similarity import pair_weights

    found = fit_pairs.fit()
    for kind, weights in found.weights.items():
        assert weights == pytest.approx(pair_weights.WEIGHTS[kind], abs=0.02)
    assert found.bars == pytest.approx(pair_weights.BARS, abs=0.005)
    assert found.twin_weights == pytest.approx(pair_weights.TWIN_WEIGHTS, abs=0.02)
    assert found.twin_bar == pytest.approx(pair_weights.TWIN_BAR, abs=0.005)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_rarer_words_weigh_more_and_hardly_any_weight_is_negative(a: int, b: int) -> None:
    total = 10**6
    fewer, more = sorted((a, b))
    assert rarity(fewer, total) >= rarity(more, total) >= 0
