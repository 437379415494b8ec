"""The graph of a store: the importance of its nodes, computed once for each graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import open_test_store
from graph_kit import entity, fill

from engram.domain.graph.graph import Edge, Graph, Node, transitions
from engram.usecases.graph.graph_building import refresh_importance


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that the tests below only read."""
    return fill(tmp_path_factory.mktemp("graph") / "store")


def test_superseding_or_contradicting_adds_no_importance() -> None:
    lore = [Node(key, "lore", key, "FACT") for key in "ABCD"]
    graph = Graph(
        lore, [Edge("A", "B", "supersedes"), Edge("A", "C", "contradicts"), Edge("A", "D", "refines")]
    )
    walk = transitions(graph)
    assert [(walk.keys[one], walk.keys[other]) for one, other in walk.steps] == [("A", "D")]


def test_importance_is_computed_once_per_graph_and_affects_the_ranking(tmp_path: Path) -> None:
    root = fill(tmp_path / "store")
    with open_test_store(root) as engram:
        assert refresh_importance(engram.store)
        assert not refresh_importance(engram.store)
        before = dict(engram.store.index.generation.ranks())
        engram.feedback(helpful=[engram.query("consumers idempotent").lore[0].lore.id])
        assert not refresh_importance(engram.store)  # a judgement does not change the graph
        entity(root, "ada", "name: Ada\ntype: person\nrelationships: [{kind: owns, to: queue}]")
        assert engram.refresh_importance()
        assert dict(engram.store.index.generation.ranks()) != before
    with open_test_store(root) as engram:
        standing = [hit.score.standing for hit in engram.query("consumers must be idempotent").lore]
        worth = engram.worth().lore[0]
        generation = engram.store.index.generation
        generation.has_ranks = False
        without = [hit.score.standing for hit in engram.query("consumers must be idempotent").lore]
        assert all(0 < one - other <= 0.05 for one, other in zip(standing, without, strict=True))
        assert worth.importance > 0
