"""`engram worth`: what each entry is worth, from use."""

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
_QUESTIONS = 5
_WIDE = 100  # columns from which there is room for ids
ARGUMENTS = (
    argument("names", "REF", "which entries (default: all active ones, the most important first)", nargs="*"),
    argument("--limit", "N", "how many to list (default 20)", type=int, default=20),
    argument("--sort", "KEY", ", ".join(_SORTS), default="importance", choices=_SORTS),
)


def run(call: Call) -> int:
    from engram.usecases.consolidation.usefulness import rate_usefulness

    given = call.arguments
    found = rate_usefulness(call.store, given.names, limit=given.limit, sort=given.sort)
    would = _preview_inactive(call, found)
    call.output.document(
        {
            "lore": [{**one._asdict(), "alone": list(one.alone)} for one in found.lore],
            "total": found.total,
            "queries": found.queries,
            "would_answer": [{**one._asdict(), "queries": list(one.queries)} for one in would],
        }
    )
    width = call.output.width
    if found.lore and not given.names:
        call.output.rule("importance  shown  helpful   tokens  top 3  alone  entry")
    for one in found.lore:
        if given.names:
            _whole(call, one)
            continue
        head = f"{one.importance:>10.2f} {one.shown:>6,} {one.helpful:>8,} {one.tokens:>8,} {one.top:>6,} {len(one.alone):>6,}  "
        tail = f" {one.id}" if width >= _WIDE else ""
        room = max(10, width - len(head) - len(tail))
        call.output.line(
            head + pad(safe_text(one.title), room) + call.output.styled(tail, DIM)
            if tail
            else head + shorten(safe_text(one.title), room)
        )
    for held_back in would:
        call.output.line(
            f"{held_back.id} is not active. It would have answered {len(held_back.queries):,} of "
            f"{counted(held_back.asked, 'past query', 'past queries')}."
        )
        for query in held_back.queries[:_QUESTIONS]:
            call.output.rule(shorten(safe_text(f"    {query}"), width))
    if not (found.lore or would):
        call.output.line("No active lore here.")
    elif found.lore:
        call.output.rule(
            f"{len(found.lore):,} of {found.total:,} · {counted(found.queries, 'past query', 'past queries')} run again"
        )
    return 0


def _preview_inactive(call: Call, found: UsefulnessList) -> list[WouldAnswer]:
    """What the named entries that are not active would answer."""
    from engram.usecases.lookup.resolve import resolve
    from engram.usecases.recall.recall_preview import would_answer

    active = {one.id for one in found.lore}
    ids = dict.fromkeys(resolve(call.store, name).id for name in call.arguments.names)
    return [would_answer(call.store, lore_id) for lore_id in ids if lore_id not in active]


def _whole(call: Call, one: Usefulness) -> None:
    output = call.output
    output.line(output.styled(safe_text(one.title), BOLD))
    output.line(
        f"{output.styled(one.id, CYAN)}  importance {one.importance:.2f} · {counted(one.links, 'link')} to it"
    )
    output.line(
        f"shown {counted(one.shown, 'time')}, helpful {counted(one.helpful, 'time')}, cost about {one.tokens:,} tokens"
    )
    output.line(
        f"Removing it would change {counted(one.top, 'top-3 result')}, and weaken {counted(len(one.alone), 'answer')}."
    )
    for query in one.alone[:_QUESTIONS]:
        output.rule(shorten(safe_text(f"    {query}"), output.width))
