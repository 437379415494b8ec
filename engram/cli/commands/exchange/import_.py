"""`engram import`: import notes, JSON, and the memories of agents and other tools."""

from __future__ import annotations

import os

from engram.cli.invocation import Call
from engram.cli.parsing import argument, declare_parameter, switch
from engram.cli.progress import progress
from engram.domain.errors import NotFoundError, UsageError
from engram.domain.exchange.memory_kinds import KINDS
from engram.domain.text.counted_nouns import counted, entries
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING
from engram.operations.description import text, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.exchange.import_lore import Imported
    from engram.usecases.exchange.import_places import Found

DESCRIPTION = (
    "Import markdown notes, JSON or JSON Lines, or the memories of agents and other tools; without a path, what\n"
    "agents keep about this project (with --scope user: about you). Notes longer than one entry are split by their\n"
    "headings into linked entries; folder names become tags; secrets are refused and reported. Importing the same\n"
    "files again changes nothing."
)
EXAMPLES = (
    "engram import ~/notes",
    "engram import export.jsonl --category fact",
    "engram import notes --dry-run --json",
    "engram import --dry-run                   # CLAUDE.md, AGENTS.md, .cursor/rules, … of this project",
    "engram import --from mem0 memories.json",
)
ARGUMENTS = (
    argument("path", "PATH", "a folder, or a .md, .json or .jsonl file", nargs="?"),
    argument(
        "--from",
        "KIND",
        f"the format (default: detected): {', '.join(kind.name for kind in KINDS)}",
        dest="kind",
        default="",
    ),
    declare_parameter(text("category", "the category of all (default: as written, else guessed)")),
    declare_parameter(texts("tags", "tag", "a tag for all")),
    argument("--confidence", "F", "the confidence of all", type=float),
    argument("--status", help="active, or pending to wait for review", default=""),
    switch("--redact", "mask secrets instead of refusing the note"),
    switch("--dry-run", "show what would be imported; write nothing"),
)


def run(call: Call) -> int:
    """Import and report. Exit 1 if there were only problems."""
    from engram.usecases.exchange.import_lore import Options, import_lore

    given = call.arguments
    options = Options(
        given.category,
        tuple(given.tags),
        given.confidence,
        given.status,
        given.redact,
        given.dry_run,
        given.kind,
    )
    place = os.path.expanduser(given.path) if given.path else _find_sources(call)
    with progress(call.output, "importing") as step:
        done = import_lore(call.store, place, options, step)
    call.wrote = bool(done.imported) and not given.dry_run
    _report(call, done)
    return 1 if done.problems and not (done.imported or done.skipped) else 0


def _find_sources(call: Call) -> Sequence[Found]:
    """Return the agents' notes found here, once the user agrees to import them. Raises NotFoundError, UsageError."""
    from engram.domain.scopes import USER
    from engram.usecases.exchange.import_places import find_memories

    given = call.arguments
    own = call.store.places.scope == USER
    found = [source for source in find_memories(os.getcwd(), own=own) if given.kind in ("", source.kind)]
    if not found:
        whose = "about you" if own else "about this project"
        raise NotFoundError(f"No agents' notes {whose} were found.", "Name a file or folder to import.")
    call.output.say(*(f"{source.kind:<14} {source.path}" for source in found))
    if not given.dry_run and not call.confirm(
        "Import this?" if len(found) == 1 else f"Import these {len(found)}?"
    ):
        raise UsageError("Nothing was imported.", "See what it finds: engram import --dry-run")
    return found


def _report(call: Call, done: Imported) -> None:
    given = call.arguments
    document: dict[str, object] = {
        "imported": done.imported,
        "split": done.split,
        "skipped": done.skipped,
        "problems": done.problems,
        "redacted": done.redacted,
        "superseded": done.superseded,
        "left_out": [field._asdict() for field in done.left_out],
    }
    if given.dry_run:
        document["seen"] = [note._asdict() for note in done.seen]
        for note in done.seen:
            twin = f" {note.twin}" if note.twin else ""
            call.output.say(f"  {note.verdict + twin:<6} {note.category:<22} {note.title}")
            call.output.dim(f"         {note.where}{f' · {note.kind}' if note.kind else ''}")
    call.output.document(document)
    _report_problems(call, done)
    parts = [f"{'Would import' if given.dry_run else 'Imported'} {entries(done.imported)}"]
    if done.split:
        parts.append(f"{counted(done.split, 'long note')} split")
    if done.superseded:
        parts.append(f"{len(done.superseded):,} in place of an earlier version")
    if done.skipped:
        parts.append(f"{done.skipped:,} here already")
    if done.redacted:
        parts.append(f"{counted(done.redacted, 'secret')} masked")
    if done.problems:
        parts.append(counted(len(done.problems), "problem"))
    call.output.line(", ".join(parts))
    _report_left_out(call, done)


def _report_problems(call: Call, done: Imported) -> None:
    """Print the problems, grouped by hint."""
    by_hint: dict[str, list[str]] = {}
    for problem in done.problems:
        by_hint.setdefault(str(problem["hint"]), []).append(f"  {problem['path']}: {problem['message']}")
    for hint, lines in by_hint.items():
        call.output.say(*lines)
        if hint:
            call.output.dim(f"    {hint}")


def _report_left_out(call: Call, done: Imported) -> None:
    """Print which source fields have no counterpart in entries, and where their values went."""
    counts: dict[tuple[str, str], list[str]] = {}
    for field in done.left_out:
        counts.setdefault((field.what, field.where), []).append(field.path)
    if counts:
        call.output.line("Not imported as fields:")
    for (what, where), paths in counts.items():
        place = safe_text(paths[0]) if len(paths) == 1 else f"{len(paths):,} sources"
        call.output.line(f"  {safe_text(what)} ({place}): {where}")
