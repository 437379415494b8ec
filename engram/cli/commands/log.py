"""`engram log`: the history of a lore."""

from __future__ import annotations

import sys

from engram.domain.safe_text import safe_text
from engram.domain.times import render
from engram.domain.trust import NOT_SIGNED
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from engram.cli.call import Call
    from engram.usecases.history import Event

DESCRIPTION = (
    "The history of a lore from git, newest first: who, when, what.\n"
    "At a terminal also how its confidence went."
)
EXAMPLES = ("engram log L1", "engram log 01M805C3 --limit 5 --json")
_LEVELS = "▁▂▃▄▅▆▇█"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="REF", help="which lore")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="how many commits (default 50)")


def run(call: Call) -> int:
    """Print the history."""
    from engram.usecases.history import history

    lore_id, events = history(call.store, call.arguments.name, call.arguments.limit)
    call.output.document({"id": lore_id, "history": [_row(event) for event in events]})
    known = [event.confidence for event in reversed(events) if event.confidence is not None]
    # One line a commit is what scripts read, so the picture is for eyes only.
    if known and sys.stdout.isatty():
        call.output.line(
            f"{sparkline(known, max(call.output.width - 20, 20))}  {known[0]:.2f} → {known[-1]:.2f}"
        )
    for event in events:
        who = event.agent or event.author
        signed = "" if event.signature.state == NOT_SIGNED else f"  [{event.signature.sentence}]"
        call.output.line(safe_text(f"{event.commit}  {render(event.at)}  {who:<16} {event.subject}{signed}"))
    if not events:
        call.output.line("Git has no history of it yet: it is not committed.")
    return 0


def sparkline(confidences: Sequence[float], width: int) -> str:
    """Confidences (0..1, oldest first) as a line of blocks; of more than `width` the last ones."""
    last = confidences[-max(width, 1) :]
    return "".join(_LEVELS[min(int(value * len(_LEVELS)), len(_LEVELS) - 1)] for value in last)


def _row(event: Event) -> dict[str, object]:
    return {**event._asdict(), "at": render(event.at), "signature": event.signature._asdict()}
