"""`engram search`: lore by text, tags, category, agent and dates together."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD, CYAN
from engram.cli.parsing import declare, values_of
from engram.domain.entry.confidence import two_decimals
from engram.domain.entry.people import byline
from engram.domain.text.counted_nouns import entries
from engram.domain.text.drawing import gauge
from engram.domain.text.safe_text import safe_text
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
    rows = [{**one.as_dict(), "ref": one.ref, "scope": one.scope} for one in found.lore]
    call.output.document({"lore": rows, "strength": found.strength, "notes": list(found.notes)})
    styled = call.output.styled
    for one in found.lore:
        lore = one.lore if one.counted is None else in_effect(one.lore, one.counted)
        head = f"{styled(f'{one.ref:<3}', BOLD, CYAN)} {gauge(lore.confidence, 8)} {two_decimals(lore.thousandths)}  "
        call.output.line(head + styled(safe_text(lore.title), BOLD))
        by = byline(lore.agent, lore.author)
        facts = f"    {lore.category} · {by} · {lore.created_at:%Y-%m-%d} · {one.scope}"
        call.output.rule(facts)
    call.output.rule(entries(len(found.lore)) if found.lore else "No entry matches.")
    call.output.notes(found.notes)
    return 0
