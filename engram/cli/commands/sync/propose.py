"""`engram propose`: propose lore for a branch that the user may not push to."""

from __future__ import annotations

from engram.cli.commands.sync.sync import TIME_LIMIT
from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.cli.progress import steps
from engram.domain.errors import UsageError
from engram.domain.text.counted_nouns import elapsed, entries

DESCRIPTION = (
    "Push local changes to a branch of their own, `engram/proposals/NAME`, instead of the branch of lore, and print\n"
    "where a pull request can be opened. Running it again adds to the open proposal. Somebody who may push to the\n"
    "branch of lore reviews it with `engram review --proposal NAME`, or merges that branch at the host; your next\n"
    "sync brings what was accepted, and the reasons for the rest. Until then, a sync leaves that branch alone."
)
EXAMPLES = ('engram propose -m "What we learned about queues"', "engram propose --list")
ARGUMENTS = (
    argument("-m --message", "TITLE", "the title of the proposal", default=""),
    switch("--list", "list the open proposals, and what became of your last one"),
    TIME_LIMIT,
)


def run(call: Call) -> int:
    from engram.usecases.sync.propose import propose
    from engram.usecases.sync.sync import Options

    given = call.arguments
    if given.list:
        if given.message:
            raise UsageError("--list takes no title.", "engram propose --list")
        return _list(call)
    with steps(call.output) as step:
        done = propose(call.store, given.message, Options(timeout=given.timeout), step)
    call.wrote = True
    call.output.document({"proposal": done._asdict()})
    call.output.say(f"Proposed {entries(done.entries)} as {done.name}: {done.title}")
    if done.url:
        call.output.say(f"Open a pull request: {done.url}")
    else:
        call.output.say(f"Branch: {done.remote}/{done.branch}")
    call.output.dim(f"To review it: engram review --proposal {done.name}")
    call.output.notes(done.notes)
    return 0


def _list(call: Call) -> int:
    from engram.usecases.sync.own_proposal import own_proposal
    from engram.usecases.sync.propose import list_proposals

    found, own = list_proposals(call.store, timeout=call.arguments.timeout), own_proposal(call.store)
    last = own if own is not None and not own.open else None
    call.output.document(
        {"proposals": [proposal._asdict() for proposal in found], "last": last and last.as_dict()}
    )
    now = call.store.clock.now().timestamp()
    for proposal in found:
        author = f"{proposal.author}, yours" if proposal.is_own else proposal.author
        call.output.say(f"{proposal.name}  {proposal.title}")
        call.output.dim(f"    {entries(proposal.entries)} · {author} · {elapsed(now - proposal.at)}")
    if not found:
        call.output.line("No proposal is open.")
    call.output.notes(last.lines() if last else ())
    return 0
