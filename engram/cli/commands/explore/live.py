"""`engram live`: what queries, tools and hooks did here, as it happens."""

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

    from engram.usecases.store.activity_log import LiveEntry

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
_WHO, _SHORT_WHO = 24, 14  # columns of a name
ARGUMENTS = (
    argument("--limit", "N", "how many lines (default 20)", type=int, default=20),
    argument("--since", "NUMBER", "only lines after that number, oldest first", type=int),
    switch("--follow", "keep printing new lines until interrupted"),
)


def _pause() -> None:
    time.sleep(_PAUSE_SECONDS)  # SQLite tells nobody of a new row, so it is looked for


def run(call: Call) -> int:
    """Print the record; with --follow for as long as it is wanted."""
    from engram.usecases.store import activity_log

    given = call.arguments
    if given.follow:
        try:
            for entry in activity_log.follow(call.store, given.since, given.limit, _pause):
                _follow_up(call, entry)
        except KeyboardInterrupt:
            return INTERRUPTED  # which is how it ends, and no error
        return 0
    found = activity_log.entries(call.store, given.since, given.limit)
    last = found[-1].number if found else given.since or 0
    call.output.document({"entries": [entry.as_dict() for entry in found], "last": last})
    for entry in found:
        call.output.lines(_lines(call, entry))
    if not found:
        call.output.line("Nothing was done here yet." if given.since is None else "Nothing new.")
    return 0


def _follow_up(call: Call, entry: LiveEntry) -> None:
    """One entry at once, whoever reads the other end of a pipe."""
    if call.output.json:
        print(safe_json(json.dumps(entry.as_dict(), ensure_ascii=False)))
    call.output.lines(_lines(call, entry))
    sys.stdout.flush()


def _lines(call: Call, entry: LiveEntry) -> Iterator[str]:
    """When, who, by which way, what came of it; below it what was asked, and what was withheld."""
    from engram.usecases.store.people import own_name

    moment = datetime.fromtimestamp(entry.at).astimezone().strftime("%H:%M:%S")
    room = _WHO if call.output.width >= _WIDE else _SHORT_WHO
    who = pad(safe_text(short_byline(entry.agent, own_name(call.store), room)), room)
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
    head = f"{moment}  {who} "
    yield call.output.styled(head, DIM) + safe_text(" · ".join(fact for fact in facts if fact))
    if entry.query:
        yield f"          {shorten(safe_text(' '.join(entry.query.split())), call.output.width - 10)}"
    for one in entry.withheld:
        yield call.output.styled(safe_text(f"          withheld: {len(one.ids)} {one.why}"), DIM)
