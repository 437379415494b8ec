"""`engram worth`: show what each entry is worth, from its use."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD, CYAN, DIM, pad, shorten
from engram.cli.parsing import argument
from engram.domain.text.counted_nouns import counted
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.domain.consolidation.usefulness import Usefulness
    from engram.usecases.consolidation.usefulness import UsefulnessList
    from engram.usecases.recall.recall_preview import WouldAnswer

DESCRIPTION = (
    "Show how often each entry was shown and found helpful on this machine, its cost in tokens, in how many past\n"
    "queries it ranks among the first three, which of them it alone answers, and the importance that follows. Past\n"
    "queries are run again. For a named entry that is not active, show the queries it would answer."
)
EXAMPLES = ("engram worth", "engram worth L1", "engram worth --sort tokens --limit 50 --json")
_SORTS = ("importance", "shown", "helpful", "tokens", "alone")
_MOST_QUERIES = 5
_WIDE = 100  # columns of a terminal that has room for ids
ARGUMENTS = (
    argument("names", "REF", "which entries (default: all active ones, the most important first)", nargs="*"),
    argument("--limit", "N", "how many to list (default 20)", type=int, default=20),
    argument("--sort", "KEY", ", ".join(_SORTS), default="importance", choices=_SORTS),
)


def run(call: Call) -> int:
    from engram.usecases.consolidation.usefulness import rate_usefulness

    given = call.arguments
    found = rate_usefulness(call.store, given.names, limit=given.limit, sort=given.sort)
    previews = _preview_inactive(call, found)
    call.output.document(
        {
            "lore": [entry._asdict() for entry in found.lore],
            "total": found.total,
            "queries": found.queries,
            "would_answer": [preview._asdict() for preview in previews],
        }
    )
    width = call.output.width
    if found.lore and not given.names:
        call.output.dim("importance  shown  helpful   tokens  top 3  alone  entry")
    for entry in found.lore:
        if given.names:
            _show_entry(call, entry)
            continue
        head = (
            f"{entry.importance:>10.2f} {entry.shown:>6,} {entry.helpful:>8,} {entry.tokens:>8,} {entry.top:>6,} "
            f"{len(entry.alone):>6,}  "
        )
        tail = f" {entry.id}" if width >= _WIDE else ""
        title, room = safe_text(entry.title), max(10, width - len(head) - len(tail))
        call.output.line(
            head + (pad(title, room) + call.output.styled(tail, DIM) if tail else shorten(title, room))
        )
    for preview in previews:
        call.output.line(
            f"{preview.id} is not active. It would have answered {len(preview.queries):,} of "
            f"{counted(preview.asked, 'past query', 'past queries')}."
        )
        for query in preview.queries[:_MOST_QUERIES]:
            call.output.dim(shorten(safe_text(f"    {query}"), width))
    if not (found.lore or previews):
        call.output.line("No active lore here.")
    elif found.lore:
        call.output.dim(
            f"{len(found.lore):,} of {found.total:,} · {counted(found.queries, 'past query', 'past queries')} run again"
        )
    return 0


def _preview_inactive(call: Call, found: UsefulnessList) -> list[WouldAnswer]:
    """Return the past queries that the named inactive entries would have answered."""
    from engram.usecases.lookup.resolve import resolve
    from engram.usecases.recall.recall_preview import would_answer

    active = {entry.id for entry in found.lore}
    ids = dict.fromkeys(resolve(call.store, name).id for name in call.arguments.names)
    return [would_answer(call.store, lore_id) for lore_id in ids if lore_id not in active]


def _show_entry(call: Call, entry: Usefulness) -> None:
    output = call.output
    output.line(output.styled(safe_text(entry.title), BOLD))
    output.line(
        f"{output.styled(entry.id, CYAN)}  importance {entry.importance:.2f} · {counted(entry.links, 'link')} to it"
    )
    output.line(
        f"shown {counted(entry.shown, 'time')}, helpful {counted(entry.helpful, 'time')}, cost about {entry.tokens:,} tokens"
    )
    output.line(
        f"Removing it would change {counted(entry.top, 'top-3 result')}, and weaken {counted(len(entry.alone), 'answer')}."
    )
    for query in entry.alone[:_MOST_QUERIES]:
        output.dim(shorten(safe_text(f"    {query}"), output.width))
