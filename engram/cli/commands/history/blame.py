"""`engram blame`: show the commit that last changed each field and line of an entry."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import DIM, shorten
from engram.cli.parsing import argument
from engram.cli.progress import progress
from engram.domain.admission.trust import GOOD, NOT_SIGNED
from engram.domain.entry.people import committer_line
from engram.domain.entry.times import render
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.history.blame import Blamed

DESCRIPTION = (
    "Show which commit last changed each field and line of an entry, when, and which agent or person made it."
)
EXAMPLES = ("engram blame L1", "engram blame 01M805C3 --json")
ARGUMENTS = (argument("name", "REF", "which entry"),)


def run(call: Call) -> int:
    from engram.usecases.history.blame import blame

    with progress(call.output, "reading the history") as step:
        lore_id, rows = blame(call.store, call.arguments.name, step)
    lines = [{**row._asdict(), "at": render(row.at) if row.at else None} for row in rows]
    call.output.document({"id": lore_id, "lines": lines})
    for row in rows:
        for text in row.text.split("\n"):
            origin = call.output.styled(safe_text(_origin(row)), DIM)
            call.output.line(f"{origin} {safe_text(text)}".rstrip())
    return 0


def _origin(row: Blamed) -> str:
    if not row.commit:
        return f"{'not committed':<42}"
    who = shorten(committer_line(row.agent, row.author), 14)
    moment = render(row.at)[:16].replace("T", " ") if row.at else ""
    signed = {GOOD: "✓", NOT_SIGNED: " "}.get(row.signature, "✗")
    return f"{row.commit:<10}{signed}{moment} {who:<14}"
