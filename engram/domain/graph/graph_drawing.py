"""Render a graph: as a text tree of the paths from one entity, and as DOT for Graphviz."""

from __future__ import annotations

from engram.domain.graph.graph import LORE, MENTIONS, NAME, Edge, Node
from engram.domain.graph.graph_walk import TOGETHER, Reached, Step
from engram.domain.text.counted_nouns import entries
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


SHAPES = {
    "person": "ellipse",
    "project": "folder",
    "company": "house",
    "concept": "hexagon",
    "tool": "component",
}


class Branch(NamedTuple):
    """A line of the tree: its prefix (`├─ `), the last step in words (`uses →`), and the entity reached."""

    before: str
    step: str
    reached: Reached


def tree(reached: Sequence[Reached]) -> list[Branch]:
    """Arrange entities as a tree: below each entity those reached through it, in the order given.

    An entity whose parent is not shown is placed below its nearest shown ancestor.
    """
    if not reached:
        return []
    shown = {found.node.key for found in reached}
    children: dict[str, list[Reached]] = {}
    for found in reached[1:]:
        before = [step.to for step in found.way[:-1] if step.to in shown]
        children.setdefault(before[-1] if before else reached[0].node.key, []).append(found)
    lines = [Branch("", "", reached[0])]
    _add_branches(lines, children, reached[0].node.key, "")
    return lines


def _add_branches(lines: list[Branch], children: dict[str, list[Reached]], key: str, before: str) -> None:
    branches = children.get(key, [])
    for number, found in enumerate(branches, 1):
        last = number == len(branches)
        lines.append(Branch(before + ("└─ " if last else "├─ "), format_step(found.way[-1]), found))
        _add_branches(lines, children, found.node.key, before + ("   " if last else "│  "))


def format_step(step: Step) -> str:
    """Format a step: `uses →`, `← uses` against its direction, `uses ↔` in both directions, `with` if entries name both."""
    if step.kind == TOGETHER:
        return "with"
    if step.both:
        return f"{step.kind} ↔"
    return f"← {step.kind}" if step.back else f"{step.kind} →"


def format_way(reached: Reached) -> str:
    """Format the path to a node: `uses → Queue (since 2024-01-01), runs_on → ZooKeeper`."""
    steps = []
    for step in reached.way:
        details = [f"since {step.since}"] if step.since else []
        details += [entries(step.lore)] if step.lore else []
        steps.append(f"{format_step(step)} {step.name}" + (f" ({', '.join(details)})" if details else ""))
    return ", ".join(steps)


def dot(nodes: Iterable[Node], edges: Iterable[Edge]) -> str:
    """Render the graph as DOT: entities with a shape for each type, entries as notes."""
    lines = [
        "digraph engram {",
        "  rankdir=LR;",
        '  node [fontname="sans-serif"];',
        '  edge [fontname="sans-serif"];',
    ]
    lines += [f"  {_quote(node.key)} [label={_quote(node.name)}, {_shape(node)}];" for node in nodes]
    for edge in edges:
        label = f"{edge.kind}\nsince {edge.since}" if edge.since else edge.kind
        style = "" if edge.kind != MENTIONS else ", style=dotted"
        lines.append(f"  {_quote(edge.source)} -> {_quote(edge.target)} [label={_quote(label)}{style}];")
    return "\n".join([*lines, "}"])


def _shape(node: Node) -> str:
    if node.kind == LORE:
        return "shape=note"
    return "shape=plaintext" if node.kind == NAME else f"shape={SHAPES.get(node.type, 'box')}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "")
    return f'"{escaped}"'
