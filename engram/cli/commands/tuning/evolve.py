"""`engram evolve`: show what judged queries say about the ranking, and propose better settings."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD
from engram.cli.parsing import switch
from engram.cli.tables import show_table

DESCRIPTION = (
    "Show what helped and what did not, counted from the queries that were judged on this machine. With 30 or more\n"
    "of them, also propose ranking settings that would have served them better: found on one half of the queries,\n"
    "confirmed on the other. Nothing is changed without --apply; --revert undoes the last one."
)
EXAMPLES = ("engram evolve", "engram evolve --apply", "engram evolve --revert")
ARGUMENTS = (
    switch("--apply", "write the proposed settings into the store's .engram.toml"),
    switch("--user", "with --apply: write to your own file instead, the only place for weights of scopes"),
    switch("--revert", "restore the file as it was before the last --apply"),
)


def run(call: Call) -> int:
    from engram.domain.tuning.evolution import as_tables, is_of_scope, verdict
    from engram.usecases.tuning.apply import evolve_store

    given = call.arguments
    found = evolve_store(call.store, apply=given.apply, revert=given.revert, user=given.user)
    call.wrote = bool(found.file)
    call.output.document(found.as_dict())
    for table in as_tables(found):
        call.output.line(call.output.styled(table.name, BOLD))
        show_table(call.output, table)
        call.output.line()
    call.output.say(verdict(found))
    if any(not is_of_scope(proposal.key) for proposal in found.proposals) and not found.file:
        call.output.dim("engram evolve --apply writes that, engram evolve --revert takes it back")
    return 0
