"""`engram merge-driver`: merge two versions of an entry's file; git calls it."""

from __future__ import annotations

import os

from engram.cli.invocation import Call
from engram.cli.parsing import argument

DESCRIPTION = (
    "Merge two versions of an entry's file by field. Git calls it where `engram init` configured it,\n"
    "with the names of temporary files; the result replaces OURS."
)
EXAMPLES = ("git config merge.engram.driver   # how git calls it",)
ARGUMENTS = (
    argument("base", "BASE", "the last version that both sides had (%%O)"),
    argument("ours", "OURS", "our version, and the result (%%A)"),
    argument("theirs", "THEIRS", "the other version (%%B)"),
    argument("path", "PATH", "where the result belongs (%%P)"),
)


def run(call: Call) -> int:
    """Merge and exit 0: conflicts are recorded in the file, so only a merge that cannot be made is an error."""
    from engram.usecases.merge.merge_driver import merge_driver
    from engram.usecases.store.store import Clock

    given = call.arguments
    merged = merge_driver(given.base, given.ours, given.theirs, given.path, os.environ, Clock())
    kept = [version.path for version in merged.kept]
    fields = [entry.field for entry in merged.conflicts]
    call.output.document({"path": given.path, "fields": merged.fields, "conflicts": fields, "kept": kept})
    if fields and not call.output.json:
        call.output.note(
            f"{given.path}: both changed {', '.join(fields)}; the losing version is under `conflicts`"
        )
    call.output.notes(f"{given.path}: the other version is {path}" for path in kept)
    return 0
