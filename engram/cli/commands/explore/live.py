"""`engram live`: show the activity log of queries, tools and hooks, as it grows."""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime

from engram.cli.invocation import Call
from engram.cli.output import DIM, pad, shorten
from engram.cli.parsing import argument, switch
from engram.domain.entry.people import short_byline
from engram.domain.errors import INTERRUPTED
from engram.domain.text.counted_nouns import entries
from engram.domain.text.safe_text import safe_json, safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.usecases.store.activity_log import ActivityLine

DESCRIPTION = (
    "Show what queries, MCP tools, hooks and syncs did on this machine: what was asked, which entries were shown,\n"
    "what they cost, what was withheld and why. This activity log is never in git; `recall.log` turns it off."
)
EXAMPLES = (
    "engram live",
    "engram live --follow",
    "engram live --since 120 --json",
    "engram live --follow --json              # one document a line, until it is interrupted",
)
_PAUSE_SECONDS = 0.5
_WIDE = 110  # columns
_NAME_WIDTH, _SHORT_NAME_WIDTH = 24, 14  # columns
ARGUMENTS = (
    argument("--limit", "N", "how many lines (default 20)", type=int, default=20),
    argument("--since", "NUMBER", "only lines after that number, oldest first", type=int),
    switch("--follow", "keep printing new lines until interrupted"),
)


def _pause() -> None:
    time.sleep(_PAUSE_SECONDS)  # SQLite does not notify of new rows, so the log is polled


def run(call: Call) -> int:
    """Print the log; with --follow until interrupted."""
    from engram.usecases.store import activity_log

    given = call.arguments
    if given.follow:
        try:
            for entry in activity_log.follow(call.store, given.since, given.limit, _pause):
                _print_now(call, entry)
        except KeyboardInterrupt:
            return INTERRUPTED  # the normal end, so no error is reported
        return 0
    found = activity_log.entries(call.store, given.since, given.limit)
    last = found[-1].number if found else given.since or 0
    call.output.document({"entries": [entry.as_dict() for entry in found], "last": last})
    for entry in found:
        call.output.lines(_format_lines(call, entry))
    if not found:
        call.output.line("Nothing was done here yet." if given.since is None else "Nothing new.")
    return 0


def _print_now(call: Call, entry: ActivityLine) -> None:
    """Print an entry, flushed so that a reader of a pipe gets it at once."""
    if call.output.json:
        print(safe_json(json.dumps(entry.as_dict(), ensure_ascii=False)))
    call.output.lines(_format_lines(call, entry))
    sys.stdout.flush()


def _format_lines(call: Call, entry: ActivityLine) -> Iterator[str]:
    """Yield the lines of an entry: time, name, front end and result; then the query, and withheld entries with the reason."""
    from engram.usecases.store.people import own_name

    moment = datetime.fromtimestamp(entry.at).astimezone().strftime("%H:%M:%S")
    width = _NAME_WIDTH if call.output.width >= _WIDE else _SHORT_NAME_WIDTH
    name = pad(safe_text(short_byline(entry.agent, own_name(call.store), width)), width)
    facts = [
        entry.via or "unknown",
        entry.action,
        entry.strength,
        entries(len(entry.ids)) if entry.ids else "",
    ]
    facts += [f"{name} {count}" for name, count in entry.details.items() if count]
    facts += [
        f"{entry.tokens:,} tokens" if entry.tokens else "",
        f"{entry.took_ms:.0f} ms" if entry.took_ms else "",
    ]
    yield call.output.styled(f"{moment}  {name} ", DIM) + safe_text(" · ".join(filter(None, facts)))
    if entry.query:
        yield f"          {shorten(safe_text(' '.join(entry.query.split())), call.output.width - 10)}"
    for group in entry.withheld:
        yield call.output.styled(safe_text(f"          withheld: {len(group.ids)} {group.why}"), DIM)
