"""A walk reaches all nodes within its depth by shortest paths."""

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
def test_a_walk_reaches_all_nodes_within_its_depth_by_shortest_paths(
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
    depths, frontier = {"A": 0}, {"A"}
    for steps in range(1, depth + 1):
        frontier = {
            key for key in "ABCDE" for one in frontier if key not in depths and frozenset((one, key)) in near
        }
        depths |= dict.fromkeys(frontier, steps)
    assert {one.node.key: one.depth for one in found} == depths
    for one in found:
        path = ["A", *(step.to for step in one.way)]
        assert path[-1] == one.node.key
        for step, pair in zip(one.way, pairwise(path), strict=True):
            both = sum(set(pair) <= keys for keys in named)
            if step.kind == "uses":
                assert (pair[::-1] if step.back else pair) in related
            else:
                assert step.lore == both > 0
                assert frozenset(pair) not in typed
