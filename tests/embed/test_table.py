"""Late interaction over static token vectors: how near the tokens of texts come to those of a query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.adapters.embed import table
from engram.adapters.embed.provider import open_embedder
from engram.adapters.embed.table import TokenTable

WORDS = 60
DIMENSIONS = 160
TABLE = TokenTable(np.random.default_rng(1).integers(-90, 90, (WORDS, DIMENSIONS)).astype("int8"))
TOKENS = table.TokenDirections(TABLE)

tokens = st.lists(st.integers(0, WORDS - 1), max_size=30)
long = st.lists(st.integers(0, WORDS - 1), max_size=3 * table.STRETCH)


def _packed(ids: list[int]) -> bytes:
    return TOKENS.packed(np.array(ids, dtype="intc"))


def _asked(ids: list[int]) -> table.QueryTokens:
    """Each of these asked, all alike."""
    return table.QueryTokens(np.array(ids), np.full(len(ids), 1 / len(ids), "float32"), np.arange(len(ids)))


@settings(deadline=None)
@given(asked=st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=8), texts=st.lists(tokens, max_size=6))
def test_nearest_is_the_largest_cosine_of_any_token_of_a_text(
    asked: list[int], texts: list[list[int]]
) -> None:
    rows = TABLE.rows(np.arange(WORDS))[:, : table.COMPARED].astype("float64")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    expected = [
        [max((rows[one] @ rows[other] for other in text), default=0) for text in texts] for one in asked
    ]
    found = TOKENS.nearest(_asked(asked), [_packed(text) for text in texts])
    assert found.shape == (2, len(asked), len(texts))
    for one in found:
        assert np.allclose(one, np.maximum(expected, 0) if texts else one, atol=0.02)


@settings(deadline=None)
@given(asked=st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=4), texts=st.lists(long, max_size=4))
def test_the_stretch_of_a_long_text_nearest_to_the_whole_query_counts(
    asked: list[int], texts: list[list[int]]
) -> None:
    step = table.STRETCH // 2
    stretches = [
        [text[at : at + table.STRETCH] for at in range(0, max(len(text) - step, 1), step)] for text in texts
    ]
    wanted = _asked(asked)
    found, anywhere = TOKENS.nearest(wanted, [_packed(text) for text in texts])
    for place, of_text in enumerate(stretches):
        _, each = TOKENS.nearest(wanted, [_packed(stretch) for stretch in of_text])
        assert found[:, place].sum() == pytest.approx(each.sum(axis=0).max(), abs=1e-3)
        assert anywhere[:, place] == pytest.approx(each.max(axis=1), abs=1e-5)


@settings(deadline=None)
@given(words=st.lists(st.tuples(tokens, st.floats(0.01, 9)), max_size=40))
def test_shares_are_per_distinct_token_and_sum_to_one(words: list[tuple[list[int], float]]) -> None:
    tokens, shares, owners = TOKENS.query_tokens(
        [tokens for tokens, _ in words], [weight for _, weight in words]
    )
    assert len(set(tokens.tolist())) == len(tokens) == len(shares) <= table.MAX_QUERY_TOKENS
    assert all(
        token in words[owner][0] for token, owner in zip(tokens.tolist(), owners.tolist(), strict=True)
    )
    assert (shares >= 0).all()
    assert not len(shares) or shares.sum() == pytest.approx(1, abs=1e-5)


def test_the_heaviest_tokens_of_a_very_long_query_are_kept() -> None:
    words = [[token] for token in range(WORDS)]
    kept = set(TOKENS.query_tokens(words, [float(token) for token in range(WORDS)]).tokens.tolist())
    assert len(kept) == table.MAX_QUERY_TOKENS
    assert {WORDS - 1, WORDS - 2} <= kept
    assert 1 not in kept


@pytest.mark.parametrize("damaged", [b"\x01", b"\xff\xff"], ids=["half a token", "a token that is none"])
def test_bytes_that_are_no_tokens_are_rejected(damaged: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        TOKENS.nearest(_asked([1]), [_packed([1, 2]), damaged])


def test_a_paraphrase_of_the_query_is_nearer_than_an_unrelated_text() -> None:
    embedder = open_embedder("bundled")
    assert embedder is not None
    texts = ["the build fails when the disk is full", "paint the garden fence in spring"]
    *_, packed = embedder.embed_available(texts, [1, 1], 0)
    found = embedder.nearness(["compilation", "breaks", "storage"], [1.0, 1.0, 1.0], packed)
    assert found is not None
    assert found.query.shares.sum() == pytest.approx(1)
    near = found.query.shares @ found.nearest[0]
    assert near[0] > near[1] + 0.1
