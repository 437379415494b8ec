"""`engram log`: show the history of an entry, or of all lore."""

from __future__ import annotations

import sys

from engram.cli.invocation import Call
from engram.cli.output import DIM
from engram.cli.parsing import argument
from engram.cli.progress import progress
from engram.domain.admission.trust import NOT_SIGNED
from engram.domain.entry.times import render
from engram.domain.errors import UsageError
from engram.domain.text.counted_nouns import entries
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.history.log import Event, Operation

DESCRIPTION = (
    "Show the history of an entry, newest first: its commits and judgements, who, when and what; at a terminal also\n"
    "its confidence over time. Without REF, show what happened to all lore."
)
EXAMPLES = (
    "engram log L1",
    "engram log 01M805C3 --limit 5 --json",
    "engram log --agent codex --since 2026-11-01",
)
_LEVELS = "▁▂▃▄▅▆▇█"
ARGUMENTS = (
    argument("name", "REF", "the entry (default: all)", nargs="?", default=""),
    argument("--limit", "N", "how many commits (default 50)", type=int, default=50),
    argument("--agent", "NAME", "without REF: only the commits of this agent", default=""),
    argument("--since", "DATE", "without REF: only from this date on", default=""),
)


def run(call: Call) -> int:
    given = call.arguments
    if not given.name:
        return _show_all(call)
    if given.agent or given.since:
        raise UsageError(
            "--agent and --since cannot be combined with a REF.", "They filter the log of the whole store."
        )
    from engram.usecases.history.log import history

    with progress(call.output, "reading the history") as step:
        lore_id, events = history(call.store, given.name, given.limit, step)
    call.output.document({"id": lore_id, "history": [_json(event) for event in events]})
    known = [event.confidence for event in reversed(events) if event.confidence is not None]
    # Scripts expect one line for each commit, so the chart is only for terminals.
    if known and sys.stdout.isatty():
        call.output.line(
            f"{sparkline(known, max(call.output.width - 20, 20))}  {known[0]:.2f} → {known[-1]:.2f}"
        )
    for event in events:
        signed = "" if event.signature.state == NOT_SIGNED else f"  [{event.signature.sentence}]"
        call.output.say(_format_line(event) + signed)
    if not events:
        call.output.line("It has no history yet, since it is not committed.")
    return 0


def _show_all(call: Call) -> int:
    from engram.usecases.history.log import recent

    given = call.arguments
    with progress(call.output, "reading the history") as step:
        operations = recent(call.store, given.limit, given.agent, given.since, step)
    call.output.document({"history": [_json(operation) for operation in operations]})
    for operation in operations:
        line = safe_text(_format_line(operation))
        if len(operation.lore) > 1:
            line += call.output.styled(f" · {entries(len(operation.lore))}", DIM)
        call.output.line(line)
    if not operations:
        call.output.line("No commit or judgement fits." if given.agent or given.since else "No commits yet.")
    return 0


def _format_line(event: Event | Operation) -> str:
    return f"{event.commit}  {render(event.at)}  {event.who:<16} {event.subject}"


def sparkline(confidences: Sequence[float], width: int) -> str:
    """Draw the last `width` confidences (0..1, oldest first) as a line of blocks."""
    last = confidences[-max(width, 1) :]
    return "".join(_LEVELS[min(int(value * len(_LEVELS)), len(_LEVELS) - 1)] for value in last)


def _json(event: Event | Operation) -> dict[str, object]:
    row = {**event._asdict(), "at": render(event.at)}
    signature = getattr(event, "signature", None)  # an operation has none
    return row if signature is None else {**row, "signature": signature._asdict()}
