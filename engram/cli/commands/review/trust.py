"""`engram trust`: quarantined lore, and judgements of sources to ignore or erase."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.domain.entry.people import byline
from engram.domain.entry.times import render
from engram.domain.text.counted_nouns import counted, entries
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.review.trust import QuarantinedEntry

DESCRIPTION = (
    "List, accept or reject lore that came by sync or clone and is quarantined until you decide (see `trust.hold`).\n"
    "It is not recalled meanwhile. Rejecting archives it for everyone. `erase` removes a source's judgements, or\n"
    "single ones, from the branch of judgements for everyone who syncs. `ignore` leaves out a source's judgements\n"
    "for you alone, until `heed`; without a source it lists those ignored."
)
EXAMPLES = (
    "engram trust list",
    "engram trust accept 01M805C3",
    "engram trust accept --all",
    "engram trust reject 01M805C3 --forget",
    "engram trust ignore 01M83WJ398EBBGQSMYG20S3PHN",
    "engram trust erase 01M83WJ398EBBGQSMYG20S3PHN",
)
ARGUMENTS = (
    argument(
        "action",
        help="what to do",
        choices=("list", "accept", "reject", "ignore", "heed", "erase"),
        nargs="?",
        default="list",
    ),
    argument(
        "names",
        "REF",
        "entries, by id or the start of one; with ignore, heed and erase: ids of sources (erase: or judgements)",
        nargs="*",
    ),
    switch("--all", "all quarantined lore"),
    switch("--forget", "delete rejected lore instead of archiving it"),
)


def run(call: Call) -> int:
    from engram.usecases.review import trust

    given = call.arguments
    if given.action == "erase":
        return _erase(call)
    if given.action in ("ignore", "heed"):
        return _ignore_or_heed(call)
    if given.action == "list":
        return _list(call, trust.list_quarantined(call.store))
    if given.action == "accept":
        done, word = trust.accept(call.store, given.names, everything=given.all), "accepted"
    else:
        done = trust.reject(call.store, given.names, everything=given.all, delete=given.forget)
        word, call.wrote = "rejected", True
    call.output.document({word: [{"id": entry.lore.id, "title": entry.lore.title} for entry in done]})
    call.output.say(*(f"{word}  {entry.lore.id}  {entry.lore.title}" for entry in done))
    if not done:
        call.output.line("Nothing waits.")
    return 0


def _erase(call: Call) -> int:
    from engram.domain.errors import UsageError
    from engram.usecases.judgements.erase import erase

    if not call.arguments.names:
        raise UsageError("No source and no judgement was named.", "engram trust erase ID [ID ...]")
    count = erase(call.store, call.arguments.names)
    call.wrote = count > 0
    call.output.document({"erased": count})
    call.output.line(f"{counted(count, 'id')} listed as erased; the others learn it with the next sync.")
    return 0


def _ignore_or_heed(call: Call) -> int:
    from engram.domain.errors import UsageError
    from engram.usecases.judgements import ignored_sources

    names, ignores = call.arguments.names, call.arguments.action == "ignore"
    if not ignores and not names:
        raise UsageError("No source was named.", "To list the ignored ones: engram trust ignore")
    if names:
        count = (ignored_sources.ignore if ignores else ignored_sources.restore_sources)(call.store, names)
        call.output.line(f"{counted(count, 'source')} {'ignored' if ignores else 'counted again'}.")
    listed = ignored_sources.list_ignored(call.store)
    call.output.document({"ignored": [source._asdict() for source in listed]})
    if names:
        return 0
    for source in listed:
        number = counted(source.judgements, "judgement")
        call.output.say(f"{source.source}  {source.name or 'no name'}  {number}")
    if not listed:
        call.output.line("No source is ignored.")
    return 0


def _list(call: Call, waiting: list[QuarantinedEntry]) -> int:
    from engram.usecases.store import people

    hold = call.store.settings.text("trust.hold")
    call.output.document({"hold": hold, "held": [_json(entry) for entry in waiting], "total": len(waiting)})
    for entry in waiting:
        lore = entry.lore
        call.output.say(f"{lore.id}  {lore.title}")
        machine = people.machine_name(call.store, lore.source_id) or "an unknown machine"
        who = f"{byline(lore.agent, lore.author)}, on {machine}"
        call.output.dim(f"    {entry.why} · {who} · commit {entry.commit[:10] or 'unknown'} · {entry.path}")
    if hold == "none":
        call.output.line("Nothing is quarantined: trust.hold is none.")
    else:
        call.output.dim(f"{entries(len(waiting))} in quarantine (trust.hold = {hold})")
    return 0


def _json(entry: QuarantinedEntry) -> dict[str, object]:
    lore = entry.lore
    return {
        "id": lore.id,
        "title": lore.title,
        "category": lore.category,
        "agent": lore.agent,
        "author": lore.author,
        "source_id": lore.source_id,
        "path": entry.path,
        "commit": entry.commit or None,
        "signature": entry.signature._asdict() if entry.signature else None,
        "why": entry.why,
        "at": render(datetime.fromtimestamp(int(entry.at), UTC)),
    }
