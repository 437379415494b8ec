"""`engram search`: find lore by text, tags, category, agent and dates together."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import declare, values_of
from engram.cli.present import title_line
from engram.domain.entry.people import byline
from engram.domain.text.counted_nouns import entries
from engram.operations.recall import SEARCH

DESCRIPTION = (
    "Find active lore that matches every filter, in all scopes (`--scope`: in one): with a text the best answers to\n"
    "it, without one the newest. `engram list` lists one store in any order; `engram query` recalls for a task."
)
EXAMPLES = (
    "engram search --agent ada --since 2026-11-01",
    "engram search retries --tag queue --category decision --until 2026-10-31",
)
ARGUMENTS = (
    *declare(
        SEARCH,
        text={"flags": (), "nargs": "*", "metavar": "TEXT"},
        agents={"metavar": "ID"},
        since={"metavar": "DATE"},
        until={"metavar": "DATE"},
    ),
)


def run(call: Call) -> int:
    from engram.domain.admission.credit import in_effect
    from engram.usecases.recall.find import find

    values = values_of(call.arguments, SEARCH)
    found = find(call.store, **{**values, "text": " ".join(values["text"])}, scope=call.scope)
    rows = [{**hit.as_dict(), "ref": hit.ref, "scope": hit.scope} for hit in found.lore]
    call.output.document({"lore": rows, "strength": found.strength, "notes": found.notes})
    for hit in found.lore:
        lore = hit.lore if hit.counted is None else in_effect(hit.lore, hit.counted)
        call.output.line(title_line(call, hit.ref, lore.confidence, lore.thousandths, lore.title))
        by = byline(lore.agent, lore.author)
        call.output.dim(f"    {lore.category} · {by} · {lore.created_at:%Y-%m-%d} · {hit.scope}")
    call.output.dim(entries(len(found.lore)) if found.lore else "No entry matches.")
    call.output.notes(found.notes)
    return 0
