"""The graph as a tree and in the language of Graphviz."""

from __future__ import annotations

from engram.domain.graph.graph import Edge, Graph, Node
from engram.domain.graph.graph_drawing import dot, tree
from engram.domain.graph.graph_walk import walk


def test_the_tree_hangs_what_lies_behind_a_hidden_one_below_the_last_that_is_shown() -> None:
    nodes = [Node(key, "entity", key, "tool") for key in "ABC"]
    graph = Graph(nodes, [Edge("A", "B", "uses"), Edge("B", "C", "uses")])
    found = walk(graph, "A", 2)
    assert [(line.before, line.reached.node.key) for line in tree(found)] == [
        ("", "A"),
        ("└─ ", "B"),
        ("   └─ ", "C"),
    ]
    assert [line.before for line in tree([found[0], found[2]])] == ["", "└─ "]
    assert tree([]) == []


def test_dot_quotes_what_would_end_a_text() -> None:
    said = dot([Node("a", "lore", 'He said "no"\\\nnever', "FACT")], [Edge("a", "a", "uses", "2024")])
    assert r'label="He said \"no\"\\\nnever"' in said
    assert said.count("{") == said.count("}") == 1
