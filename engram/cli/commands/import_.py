"""`engram import`: markdown, JSON, JSON Lines."""

from __future__ import annotations

import os

from engram.cli.output import counted
from engram.cli.progress import progress
from engram.domain.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from engram.cli.call import Call

DESCRIPTION = (
    "Import a folder of markdown notes, a markdown file, or JSON or JSON Lines. Notes longer than one lore are\n"
    "split by their headings into linked lore; folder names become tags; secrets are refused and reported.\n"
    "Importing the same again changes nothing."
)
EXAMPLES = (
    "engram import ~/notes",
    "engram import export.jsonl --category fact",
    "engram import notes --dry-run --json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("path", metavar="PATH", help="a folder, or a .md, .json or .jsonl file")
    add("-c", "--category", default="", help="the category of all (default: as written, else guessed)")
    add("-t", "--tag", action="append", default=[], metavar="TAG", help="a tag for all (repeatable)")
    add("--confidence", type=float, metavar="F", help="the confidence of all")
    add("--status", default="", help="active, or pending to wait for review")
    add("--redact", action="store_true", help="mask secrets instead of refusing the note")
    add("--dry-run", action="store_true", help="say what would be imported, write nothing")


def run(call: Call) -> int:
    """Import and report; exit 1 where there were only problems."""
    from engram.usecases.import_lore import Options, import_lore

    given = call.arguments
    options = Options(
        given.category, tuple(given.tag), given.confidence, given.status, given.redact, given.dry_run
    )
    with progress(call.output, "importing") as step:
        done = import_lore(call.store, os.path.expanduser(given.path), options, step)
    call.wrote = bool(done.imported) and not given.dry_run
    call.output.document(
        {
            "imported": done.imported,
            "split": done.split,
            "skipped": done.skipped,
            "problems": list(done.problems),
            "redacted": done.redacted,
        }
    )
    for problem in done.problems:
        call.output.line(safe_text(f"  {problem['path']}: {problem['message']}"))
    parts = [f"{'Would import' if given.dry_run else 'Imported'} {done.imported:,} lore"]
    if done.split:
        parts.append(f"{counted(done.split, 'long note')} split")
    if done.skipped:
        parts.append(f"{done.skipped:,} skipped that are here already")
    if done.redacted:
        parts.append(f"{counted(done.redacted, 'secret')} masked")
    if done.problems:
        parts.append(counted(len(done.problems), "problem"))
    call.output.line(", ".join(parts))
    return 1 if done.problems and not (done.imported or done.skipped) else 0
