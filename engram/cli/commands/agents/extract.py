"""`engram extract`: record candidates from a transcript or document as pending lore."""

from __future__ import annotations

import os
import sys

from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.domain.text.counted_nouns import counted
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.agents.extract import Outcome

DESCRIPTION = (
    "Find the few things that a transcript (plain text, markdown, JSON Lines of a coding agent) or a document\n"
    "marks as learned, and record them as pending lore for review. What the store already knows is left out;\n"
    "anything with a secret is refused."
)
EXAMPLES = (
    "engram extract notes/retrospective.md --dry-run",
    "engram extract ~/.claude/projects/app/session.jsonl",
    "git log -1 --format=%B | engram extract -",
)
ARGUMENTS = (
    argument("file", "FILE", "the transcript or document, or - for standard input"),
    argument("--limit", "N", "how many at most (default 10)", type=int, default=10),
    switch("--dry-run", "show what would be recorded; write nothing"),
)


def run(call: Call) -> int:
    from engram.usecases.agents.extract import RECORDED, extract_lore, read_source

    given = call.arguments
    path = os.path.expanduser(given.file)
    raw = sys.stdin.buffer.read() if given.file == "-" else read_source(path)
    name = "standard input" if given.file == "-" else os.path.basename(path)
    found = extract_lore(call.store, raw, name, most=given.limit, dry_run=given.dry_run)
    recorded = sum(outcome.status == RECORDED for outcome in found)
    call.wrote = bool(recorded)
    call.output.document(
        {"candidates": [_json(outcome) for outcome in found], "recorded": recorded, "dry_run": given.dry_run}
    )
    for outcome in found:
        candidate = outcome.candidate
        call.output.line(f"{outcome.status:<9} {safe_text(candidate.content) or safe_text(outcome.why)}")
        about = [candidate.category, candidate.where, *candidate.files, *([outcome.id] if outcome.id else [])]
        call.output.dim("          " + " · ".join(about))
    if not found:
        call.output.line("No lessons found in it.")
    elif recorded:
        call.output.dim(
            f"{counted(recorded, 'entry waits', 'entries wait')} for you: engram review --kind pending"
        )
    return 0


def _json(outcome: Outcome) -> dict[str, object]:
    result = outcome._asdict()
    candidate = result.pop("candidate")._asdict()
    return {**candidate, **result}
