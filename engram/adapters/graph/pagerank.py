"""PageRank by rustworkx: how often a walk that goes from node to node by chance comes to each."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DAMPING = 0.85
_NEAR_ENOUGH = 1e-12  # between two rounds, for each node
_MOST_ROUNDS = 1000  # each brings it nearer by DAMPING, so that 200 do


def pagerank(nodes: int, steps: Sequence[tuple[int, int]]) -> list[float]:
    """The rank of each node, which sum to 1. From a node without a step the walk goes on anywhere.

    Loading the library costs 20 ms, so it is loaded by the first call.
    """
    if not nodes:
        return []
    import rustworkx

    graph: rustworkx.PyDiGraph[None, None] = rustworkx.PyDiGraph(multigraph=False, node_count_hint=nodes)
    graph.add_nodes_from([None] * nodes)
    graph.add_edges_from_no_data(list(steps))
    found = rustworkx.pagerank(graph, alpha=DAMPING, tol=_NEAR_ENOUGH, max_iter=_MOST_ROUNDS)
    return [found[node] for node in range(nodes)]
