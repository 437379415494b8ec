"""A walk reaches what is near, and by a shortest way."""

from __future__ import annotations

from itertools import pairwise

import hypothesis.strategies as st
from hypothesis import given

from engram.domain.graph.graph import Edge, Graph, Node
from engram.domain.graph.graph_walk import walk


@given(
    st.lists(st.tuples(st.sampled_from("ABCDE"), st.sampled_from("ABCDE")), max_size=6),
    st.lists(st.sets(st.sampled_from("ABCDE"), max_size=3), max_size=4),
    st.integers(1, 3),
)
def test_a_walk_reaches_what_is_near_and_by_a_shortest_way(
    related: list[tuple[str, str]], named: list[set[str]], depth: int
) -> None:
    nodes = [Node(key, "entity", key, "tool") for key in "ABCDE"]
    nodes += [Node(f"lore{number}", "lore", "", "FACT") for number in range(len(named))]
    edges = [Edge(one, other, "uses") for one, other in related]
    edges += [
        Edge(f"lore{number}", key, "about") for number, keys in enumerate(named) for key in sorted(keys)
    ]
    found = walk(Graph(nodes, edges), "A", depth)
    typed = {frozenset(pair) for pair in related}
    near = typed | {frozenset((one, other)) for keys in named for one in keys for other in keys}
    away, edge = {"A": 0}, {"A"}
    for steps in range(1, depth + 1):
        edge = {key for key in "ABCDE" for one in edge if key not in away and frozenset((one, key)) in near}
        away |= dict.fromkeys(edge, steps)
    assert {one.node.key: one.depth for one in found} == away
    for one in found:
        ways = ["A", *(step.to for step in one.way)]
        assert ways[-1] == one.node.key
        for step, pair in zip(one.way, pairwise(ways), strict=True):
            both = sum(set(pair) <= keys for keys in named)
            if step.kind == "uses":
                assert (pair[::-1] if step.back else pair) in related
            else:
                assert step.lore == both > 0
                assert frozenset(pair) not in typed
