"""`engram export`: export lore as JSON, JSON Lines or markdown."""

from __future__ import annotations

import os
import sys

from engram.adapters.files import places
from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.domain.errors import UsageError
from engram.domain.text.counted_nouns import entries
from engram.usecases.exchange.export import FORMATS, JSON, JSONL, MARKDOWN, export_markdown, export_rows

DESCRIPTION = "Export all lore: as one JSON document, as JSON Lines, or as its markdown files."
EXAMPLES = (
    "engram export > lore.json",
    "engram export --format jsonl > lore.jsonl",
    "engram export --format markdown --output copy/",
)
ARGUMENTS = (
    argument("--format", help="json (default), jsonl or markdown", choices=FORMATS, default=JSON),
    argument("-o --output", "PATH", "a file, or for markdown a folder (default: standard output)"),
)


def run(call: Call) -> int:
    from engram.adapters.files.durable import atomic
    from engram.adapters.files.foreign import interchange

    given = call.arguments
    target = os.path.abspath(os.path.expanduser(given.output)) if given.output else ""
    if given.format == MARKDOWN:
        if not target:
            raise UsageError("Markdown is exported into a folder.", "Give a folder: --output FOLDER")
        _refuse_file_above(target)
        count = export_markdown(call.store, target)
    else:
        if given.format == JSONL and call.output.json and not target:
            raise UsageError(
                "JSON Lines is not a single JSON document.", "Leave out --json, or add --output FILE."
            )
        rows = list(export_rows(call.store))
        count, is_jsonl = len(rows), given.format == JSONL
        data = b"".join(interchange.write_jsonl(rows)) if is_jsonl else interchange.write_json(rows)
        if not target:
            sys.stdout.buffer.write(data)
            return 0
        _refuse_target(call, target)
        atomic.write(os.path.realpath(target), data, "export")
    call.output.document({"exported": count, "path": target})
    call.output.note(f"Exported {entries(count)} to {target}")
    return 0


def _refuse_target(call: Call, target: str) -> None:
    """Raise UsageError if the target belongs to the store or is not a regular file.

    A device or pipe would be replaced by a file, not written to.
    """
    root = os.path.realpath(call.store.places.root)
    own = [os.path.join(root, name) for name in (".git", places.CONFIG_NAME, call.store.places.folder)]
    real = os.path.realpath(target)
    if any(real == path or real.startswith(os.path.join(path, "")) for path in own):
        raise UsageError(f"{target} belongs to the store.", "Export to a path outside it.")
    if os.path.isdir(real):
        raise UsageError(f"{target} is a folder.", "Name a file, or export --format markdown.")
    if os.path.exists(real) and not os.path.isfile(real):
        raise UsageError(
            f"{target} is not a regular file.", "Leave out --output to write to standard output."
        )
    _refuse_file_above(os.path.dirname(real))


def _refuse_file_above(folder: str) -> None:
    """Raise UsageError if a folder cannot be created because a file is in the way."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise UsageError(f"{folder} is a file, not a folder.", "Give another path.")
