"""`engram maintain`: do the periodic work on a store."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import switch

DESCRIPTION = (
    "Do the work that is due: turn observations into pending lore, move votes of an earlier format to the ledger,\n"
    "archive old summaries and handoffs, delete lore past `garbage_days`, remove old sessions, let git pack its\n"
    "objects, delete temporary files of killed processes. Running it again does nothing more. After a sync it runs\n"
    "in the background, at most once a day."
)
EXAMPLES = ("engram maintain --dry-run", "engram maintain --scope user --json")
_RESULTS = {
    "observations": "pending entries made from observations",
    "migrate": "entries whose votes moved to the ledger",
    "importance": "graphs whose importance was recomputed",
    "archive": "old summaries and handoffs archived",
    "garbage": "entries deleted (history keeps them)",
    "sessions": "stores of old sessions removed",
    "objects": "loose objects packed by git",
    "leftovers": "temporary files of killed processes deleted",
}
ARGUMENTS = (switch("--dry-run", "show what is due; change nothing"),)


def run(call: Call) -> int:
    """Do the work that is due. Exit 1 if a step failed."""
    from engram.usecases.upkeep.maintain import maintain

    done = maintain(call.store, dry_run=call.arguments.dry_run)
    call.wrote = not done.dry_run
    call.output.document(done.as_dict())
    for step in done.steps:
        if step.error:
            call.output.note(f"{step.step}: {step.error}")
        elif step.number:
            call.output.line(f"{step.number:>7,} {_RESULTS.get(step.step, step.step)}")
    if not any(step.number or step.error for step in done.steps):
        call.output.line("Nothing is due.")
    if done.dry_run:
        call.output.dim("Nothing was changed.")
    return int(any(step.error for step in done.steps))
