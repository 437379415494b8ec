"""`engram adopt`: add the missing fields to files that people wrote."""

from __future__ import annotations

import os

from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.cli.present import lore_json
from engram.domain.text.counted_nouns import entries

DESCRIPTION = (
    "Add the missing fields (id, category, …) to markdown files that people put into the lore folder.\n"
    "Their text does not change. They are recalled even before that."
)
EXAMPLES = ("engram adopt", "engram adopt --aliases", "engram adopt lore/notes.md --category workflow")
ARGUMENTS = (
    argument("paths", "PATH", "files (default: all that need it)", nargs="*"),
    argument("-c --category", help="their category (default: as written in them, else FACT)", default=""),
    switch(
        "--aliases",
        "instead write the title of each entry into its aliases, so that Obsidian follows [[Title]]",
    ),
)


def _add_aliases(call: Call) -> int:
    from engram.usecases.recording.adopt import add_aliases

    changed = add_aliases(call.store)
    call.wrote = bool(changed)
    call.output.document({"aliases": changed})
    call.output.line(f"Wrote the titles of {entries(len(changed))} into their aliases.")
    return 0


def _path_in_store(call: Call, path: str) -> str:
    """Return a path that is relative to the working folder or the store, relative to the store."""
    for start in (os.getcwd(), call.store.places.root):
        full = os.path.realpath(os.path.join(start, os.path.expanduser(path)))
        inside = os.path.relpath(full, os.path.realpath(call.store.places.root))
        if os.path.exists(full) and not inside.startswith(".."):
            return inside.replace(os.sep, "/")
    return path


def run(call: Call) -> int:
    from engram.usecases.recording.adopt import adopt

    if call.arguments.aliases:
        return _add_aliases(call)
    paths = [_path_in_store(call, path) for path in call.arguments.paths]
    adopted = adopt(call.store, paths, category=call.arguments.category)
    call.wrote = bool(adopted)
    call.output.document({"adopted": [lore_json(call, entry.lore, entry.path) for entry in adopted]})
    call.output.say(*(f"Adopted {entry.path}  {entry.lore.title}" for entry in adopted))
    if not adopted:
        call.output.line("Every file has its fields.")
    return 0
