"""`engram promote`: copy lore to another scope."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.cli.present import lore_json
from engram.domain.text.counted_nouns import counted

DESCRIPTION = (
    "Copy lore to another scope: your own, a team's, or out of the session into the project.\n"
    "An entry keeps its id and origin. Promoting it again copies what changed, merged by field.\n"
    "Secrets are refused, and the copy starts with the present confidence."
)
EXAMPLES = ("engram promote L1 --to user", "engram promote L1 L3 --to team-ml --dry-run")
ARGUMENTS = (
    argument("names", "REF", "which entries: ref, id, start of an id, or words", nargs="+"),
    argument("--to", "SCOPE", "project, user or a team's scope", required=True),
    switch("--dry-run", "show what would be copied or merged; write nothing"),
)


def run(call: Call) -> int:
    from engram.usecases.recording.promote import MERGED, UNCHANGED, promote

    given = call.arguments
    done = promote(call.store, given.names, given.to, dry_run=given.dry_run)
    rows = [
        {
            "lore": lore_json(call, entry.lore, entry.path),
            "from": entry.came_from,
            "to": entry.to,
            "status": entry.status,
            "fields": entry.fields,
            "conflicts": entry.conflicts,
        }
        for entry in done
    ]
    call.output.document({"promoted": rows, "dry_run": given.dry_run})
    for entry in done:
        status = f"Would be {entry.status}" if given.dry_run else entry.status.capitalize()
        fields = f" ({', '.join(entry.fields)})" if entry.status == MERGED and entry.fields else ""
        call.output.say(
            f"{status}{fields}: {entry.lore.id}  {entry.lore.title}  {entry.came_from} → {entry.to}"
        )
        if entry.conflicts:
            call.output.dim(f"    {counted(entry.conflicts, 'conflict')}: both versions are in its file")
    if all(entry.status == UNCHANGED for entry in done):
        call.output.dim(f"{given.to} has it all already.")
    return 0
