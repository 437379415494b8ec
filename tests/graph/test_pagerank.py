"""PageRank equals its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from hypothesis import given

from engram.adapters.graph.pagerank import DAMPING, pagerank
from engram.domain.graph.graph import importance

if TYPE_CHECKING:
    from collections.abc import Sequence


def by_definition(nodes: int, steps: Sequence[tuple[int, int]]) -> list[float]:
    """Compute PageRank from its definition, by iteration."""
    out: dict[int, list[int]] = {
        node: [other for one, other in steps if one == node] for node in range(nodes)
    }
    ranks = [1 / nodes] * nodes
    for _ in range(200):
        loose = sum(ranks[node] for node in range(nodes) if not out[node])
        after = [(1 - DAMPING + DAMPING * loose) / nodes] * nodes
        for node, others in out.items():
            for other in others:
                after[other] += DAMPING * ranks[node] / len(others)
        ranks = after
    return ranks


@given(
    st.integers(1, 7).flatmap(
        lambda nodes: st.tuples(
            st.just(nodes),
            st.sets(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=20),
        )
    )
)
def test_ranks_equal_those_computed_from_the_definition(case: tuple[int, set[tuple[int, int]]]) -> None:
    nodes, found = case
    steps = sorted((one, other) for one, other in found if one != other)
    ranks = pagerank(nodes, steps)
    assert ranks == pytest.approx(by_definition(nodes, steps), abs=1e-9)
    assert sum(ranks) == pytest.approx(1)
    assert all(0 <= one <= 1 for one in importance(ranks))
