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
            "lore": lore_json(call, one.lore, one.path),
            "from": one.came_from,
            "to": one.to,
            "status": one.status,
            "fields": list(one.fields),
            "conflicts": one.conflicts,
        }
        for one in done
    ]
    call.output.document({"promoted": rows, "dry_run": given.dry_run})
    would = "Would be " if given.dry_run else ""
    for one in done:
        what = f"{would}{one.status}" if would else one.status.capitalize()
        more = f" ({', '.join(one.fields)})" if one.status == MERGED and one.fields else ""
        call.output.say(f"{what}{more}: {one.lore.id}  {one.lore.title}  {one.came_from} → {one.to}")
        if one.conflicts:
            call.output.rule(f"    {counted(one.conflicts, 'conflict')}: both versions are in its file")
    if all(one.status == UNCHANGED for one in done):
        call.output.rule(f"{given.to} has it all already.")
    return 0
