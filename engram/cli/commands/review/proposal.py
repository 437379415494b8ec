"""`engram review --proposal`: decide about a proposal, entry by entry."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD, CYAN, DIM
from engram.cli.progress import steps
from engram.domain.errors import REMOTE_FAILED, UsageError
from engram.domain.text.counted_nouns import counted, entries
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.usecases.review.proposals import Proposal, ProposedEntry

_MOST_LINES = 12  # of a difference


def run(call: Call) -> int:
    """List the entries of a proposal, or decide about some; the last decision finishes the review."""
    from engram.usecases.review.proposals import ACCEPT, REJECT, decide, load_proposal

    given = call.arguments
    if given.dry_run or given.content is not None or given.decision not in (None, ACCEPT, REJECT):
        raise UsageError(
            "An entry of a proposal can only be accepted or rejected.",
            f"engram review --proposal {given.proposal} (accept|reject) ENTRY",
        )
    found = load_proposal(call.store, given.proposal)
    name = found.about.name
    if given.decision is None:
        _show(call, found)
        return 0
    if bool(given.items) == given.all:
        raise UsageError("Name the entries by their ids, or decide about all that are left with --all.", "")
    chosen = [entry.id for entry in found.undecided] if given.all else given.items
    found = decide(call.store, name, [(lore_id, given.decision, given.reason) for lore_id in chosen])
    if found.undecided:
        call.output.document({"proposal": _json(found), "finished": None})
        left = counted(len(found.undecided), "entry is", "entries are")
        call.output.line(f"{len(found.entries) - len(found.undecided)} decided; {left} left.")
        return 0
    return _finish(call, found)


def _finish(call: Call, found: Proposal) -> int:
    from engram.usecases.review.proposals import finish
    from engram.usecases.sync.sync import Options

    with steps(call.output) as step:
        done = finish(call.store, found.about.name, Options(), step)
    call.wrote = True
    finished = {**done._asdict(), "error": done.error and done.error.as_dict()}
    call.output.document({"proposal": _json(found), "finished": finished})
    call.output.say(f"{found.about.title}: {done.accepted:,} accepted, {done.rejected:,} rejected.")
    if done.held:
        call.output.dim(
            f"{counted(done.held, 'entry waits', 'entries wait')} to be accepted: engram trust list"
        )
    if done.pushed:
        return 0
    where = done.url or f"the branch {done.branch}"
    call.output.note(
        f"The review is on the proposal, but not in the branch of lore: merge {where} at the host."
    )
    if done.error is not None:
        call.output.note(f"engram: {done.error.message}")
    return REMOTE_FAILED


def _show(call: Call, found: Proposal) -> None:
    about = found.about
    call.output.document({"proposal": _json(found), "finished": None})
    call.output.line(call.output.styled(safe_text(about.title), BOLD))
    call.output.say(f"{about.author} · {entries(len(found.entries))}")
    for entry in found.entries:
        call.output.lines(_format_lines(call, entry))
    left = len(found.undecided)
    call.output.dim(
        f"{left} undecided. engram review --proposal {about.name} accept ENTRY, or reject ENTRY --reason TEXT"
    )


def _format_lines(call: Call, entry: ProposedEntry) -> Iterator[str]:
    styled = call.output.styled
    decided = {"accept": "accepted", "reject": f"rejected: {entry.reason}"}.get(entry.decision, "")
    yield f"{styled(safe_text(entry.id), CYAN)}  {styled(safe_text(entry.title), BOLD)}"
    facts = " · ".join(part for part in (entry.phrase, entry.who, decided) if part)
    yield styled(safe_text(f"    {facts}"), DIM)
    shown = [line for line in entry.differences() if line.strip()]
    for line in shown[:_MOST_LINES]:
        yield safe_text(f"    {line}")
    if len(shown) > _MOST_LINES:
        yield styled(f"    … {len(shown) - _MOST_LINES} more lines", DIM)


def _json(found: Proposal) -> dict[str, object]:
    entries = [
        {
            "id": entry.id, "title": entry.title, "kind": entry.kind, "phrase": entry.phrase, "who": entry.who,
            "differences": entry.differences(), "decision": entry.decision, "reason": entry.reason,
        }
        for entry in found.entries
    ]  # fmt: skip
    return {**found.about._asdict(), "entries": entries}
