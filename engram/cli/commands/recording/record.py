"""`engram record`: write down something learned."""

from __future__ import annotations

from engram.cli.call import Call, text_or_stdin
from engram.cli.output import counted
from engram.cli.parsing import add_tags
from engram.cli.present import WAITS, confidence, lore_json
from engram.domain.scopes import USER
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

DESCRIPTION = "Write down something learned. It is on disk when the command returns; git gets it right after."
EXAMPLES = (
    'engram record "Redelivery happens after a missed ack" --category edge-case-discovery --tag queue',
    "git log -1 --format=%B | engram record - --category decision",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("text", metavar="TEXT", nargs="?", help="what was learned, as markdown; - reads standard input")
    add("-c", "--category", default="", help="what kind of lore it is (`engram config` lists them)")
    add(
        "--context",
        action="append",
        default=[],
        metavar="TEXT",
        help="where and when it was learned (repeatable)",
    )
    add(
        "--confidence",
        type=float,
        metavar="F",
        help="how sure, 0.00 to 1.00 (default: record.confidence, 0.70)",
    )
    add_tags(parser, "-t", "--tag", says="a topic (repeatable, or with commas)")
    add("-f", "--file", action="append", default=[], metavar="PATH", help="a file it is about (repeatable)")
    add("--entity", action="append", default=[], metavar="NAME", help="a name it is about (repeatable)")
    add("--type", default="", help="episodic, semantic, procedural or working (default: by category)")
    add("--status", default="active", help="active, or pending to wait for review")
    add("--agent", default="", help="who records it (default: the calling agent, else human)")
    add("--pin", action="store_true", help="it never fades")
    add("--redact", action="store_true", help="mask secrets instead of refusing the lore")


def run(call: Call) -> int:
    """Record it and say where it is."""
    from engram.usecases.recording.record import Draft, record

    given = call.arguments
    draft = Draft(
        content=text_or_stdin(given.text, "text"),
        category=given.category,
        context=tuple(given.context),
        confidence=given.confidence,
        tags=tuple(given.tag),
        files=tuple(given.file),
        entities=tuple(given.entity),
        type=given.type,
        status=given.status,
        agent=given.agent,
        pinned=given.pin,
        redact=given.redact,
    )
    done = record(call.store, draft)
    call.wrote = True
    twins = [twin._asdict() for twin in done.similar]
    call.output.document(
        {
            "lore": lore_json(done.lore, done.path),
            "similar": twins,
            "status": done.status,
            "redacted": done.redacted,
            "why": done.why,
            "contradictions": [found._asdict() for found in done.contradictions],
        }
    )
    did = "Recorded" if done.status == "recorded" else "The same is known already; it was merged into"
    call.output.line(f"{did} {done.lore.id}  {safe_text(done.lore.title)}")
    call.output.rule(f"{done.lore.category} · confidence {confidence(done.lore)} · {done.path}")
    if call.store.stand.scope == USER and not call.store.stand.named:
        call.output.rule("In your own store, as there is none here; `engram init` makes one.")
    if done.redacted:
        call.output.line(f"{counted(done.redacted, 'secret was', 'secrets were')} masked.")
    if done.why:
        call.output.line(WAITS.format(done.why))
    for found in done.contradictions:
        call.output.line(safe_text(f"It speaks against {found.id}, {found.why}: {found.title}"))
    for twin in [twin for twin in done.similar if twin.id != done.lore.id]:
        call.output.line(f"Very like {twin.id} ({twin.similarity:.2f}): {safe_text(twin.title)}")
    return 0
