"""`engram graph`: the neighbourhood of an entity or entry in the graph, and the graph itself for other programs."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD, CYAN, DIM, shorten
from engram.cli.parsing import declare, switch, values_of
from engram.cli.tables import show_table
from engram.domain.graph.graph import LORE
from engram.domain.text.counted_nouns import counted, entries
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING
from engram.operations.graph import GRAPH

if TYPE_CHECKING:
    from engram.domain.graph.graph_drawing import Branch
    from engram.usecases.graph.neighbourhood import Found, Neighbourhood

DESCRIPTION = (
    "Without ENTITY, show what the lore is about, the most important first. With one (a name, an alias or a slug),\n"
    "show what is within --depth steps of it, by relationships and by lore that names both, and the lore about\n"
    "all of that. ENTITY may be an entry (a ref, an id, the name of a note): show its links and backlinks."
)
EXAMPLES = (
    "engram graph",
    "engram graph billing --depth 2",
    'engram graph "Deploy checklist"         # the links of a note',
    "engram graph --dot | dot -Tsvg > graph.svg",
)
ARGUMENTS = (
    *declare(
        GRAPH,
        entity={"flags": (), "nargs": "*", "metavar": "ENTITY"},
        limit={
            "default": None,
            "help": "how many entities and entries each (default 20; with --dot and --json all)",
        },
    ),
    switch("--dot", "print it in the language of Graphviz"),
)


def run(call: Call) -> int:
    from engram.usecases.graph.neighbourhood import graph_tables, search_graph

    is_dot = call.arguments.dot
    values = values_of(call.arguments, GRAPH)
    if values["limit"] is None and not (is_dot or call.output.json):
        values["limit"] = 20
    around = search_graph(call.store, **{**values, "entity": " ".join(values["entity"]).strip()})
    call.output.document(_json(around))
    if is_dot:
        from engram.domain.graph.graph_drawing import dot

        call.output.say(dot(around.nodes(), around.edges), lines=True)
    elif around.start is None and not around.entities:
        call.output.line("No entry names an entity yet.")
        call.output.dim(
            "Next: engram link NAME --type tool, --entity NAME with record, or engram graph REF for its links"
        )
    elif around.start is None:
        table = graph_tables(around)[0]
        columns = ("entity", "type", "lore", "importance")
        places = [table.columns.index(name) for name in columns]
        rows = tuple(tuple(row[place] for place in places) for row in table.rows)
        show_table(call.output, table._replace(columns=columns, rows=rows))
    else:
        _show(call, around)
    return 0


def _show(call: Call, around: Neighbourhood) -> None:
    from engram.domain.graph.graph_drawing import tree

    output = call.output
    facts = {found.reached.node.key: found for found in around.entities}
    for branch in tree([found.reached for found in around.entities]):
        output.line(_format_line(call, branch, facts[branch.reached.node.key]))
    if around.start is not None and around.start.kind == LORE:
        if len(around.entities) == 1:
            output.line("It has no links, and nothing links to it.")
    else:
        _show_lore(call, around)
    if around.truncated:
        output.dim("… there is more: --limit shows more of it")


def _show_lore(call: Call, around: Neighbourhood) -> None:
    output = call.output
    output.line()
    for entry in around.lore:
        names = f"  ({', '.join(entry.names)})" if entry.names else ""
        head = f"{entry.category:<16} {entry.confidence:.2f}  "
        title = shorten(safe_text(entry.title + names), max(20, output.width - len(entry.id) - len(head) - 1))
        output.line(f"{output.styled(entry.id, CYAN)} {head}{title}")
    if not around.lore:
        output.line("No entry is about it.")


def _format_line(call: Call, branch: Branch, found: Found) -> str:
    """Return a line of the tree: the relationship, the name, and figures."""
    node = found.reached.node
    facts = [node.type] if node.type else []
    step = found.reached.way[-1] if found.reached.way else None
    if step is not None and step.since:
        facts.append(f"since {step.since}")
    if step is not None and step.lore:
        facts.append(f"{counted(step.lore, 'entry names', 'entries name')} both")
    facts += [entries(found.lore)] if node.kind != LORE else []
    facts.append(f"importance {found.importance:.2f}")
    output = call.output
    way = output.styled(f"{safe_text(branch.step)} ", DIM) if branch.step else ""
    return f"{branch.before}{way}{output.styled(safe_text(node.name), BOLD)} · {safe_text(' · '.join(facts))}"


def _json(around: Neighbourhood) -> dict[str, object]:
    """Return the JSON of a neighbourhood: `entities` with the `way` to each, `lore`, and the `edges` among them, by key."""
    return {
        "entity": around.start.key if around.start else "",
        "depth": around.depth,
        "entities": [
            {
                **found.reached.node._asdict(),
                "depth": found.reached.depth,
                "importance": found.importance,
                "lore": found.lore,
                "way": [step._asdict() for step in found.reached.way],
            }
            for found in around.entities
        ],
        "lore": [entry._asdict() for entry in around.lore],
        "edges": [edge._asdict() for edge in around.edges],
        "truncated": around.truncated,
    }
