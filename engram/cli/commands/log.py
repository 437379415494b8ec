"""`engram log`: the history of a lore."""

from __future__ import annotations

from engram.domain.safe_text import safe_text
from engram.domain.times import render
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from engram.cli.call import Call

DESCRIPTION = "The history of a lore from git, newest first: who, when, what."
EXAMPLES = ("engram log L1", "engram log 01M805C3 --limit 5 --json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="REF", help="which lore")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="how many commits (default 50)")


def run(call: Call) -> int:
    """Print the history."""
    from engram.usecases.history import history

    lore_id, events = history(call.store, call.arguments.name, call.arguments.limit)
    rows = [{**event._asdict(), "at": render(event.at)} for event in events]
    call.output.document({"id": lore_id, "history": rows})
    for event in events:
        who = event.agent or event.author
        call.output.line(safe_text(f"{event.commit}  {render(event.at)}  {who:<16} {event.subject}"))
    if not events:
        call.output.line("Git has no history of it yet: it is not committed.")
    return 0
