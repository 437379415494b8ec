"""The graph drawn as a tree and as DOT for Graphviz."""

from __future__ import annotations

from engram.domain.graph.graph import Edge, Graph, Node
from engram.domain.graph.graph_drawing import dot, tree
from engram.domain.graph.graph_walk import walk


def test_the_tree_places_an_entity_below_its_nearest_shown_ancestor() -> None:
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


def test_dot_escapes_quotes_backslashes_and_line_breaks() -> None:
    text = dot([Node("a", "lore", 'He said "no"\\\nnever', "FACT")], [Edge("a", "a", "uses", "2024")])
    assert r'label="He said \"no\"\\\nnever"' in text
    assert text.count("{") == text.count("}") == 1
