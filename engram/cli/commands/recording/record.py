"""`engram record`: record something learned."""

from __future__ import annotations

from engram.cli.invocation import Call, text_or_stdin
from engram.cli.parsing import declare, values_of
from engram.cli.present import WAITS, lore_json
from engram.domain.entry.confidence import two_decimals
from engram.domain.text.counted_nouns import counted
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING
from engram.operations.record import RECORD

if TYPE_CHECKING:
    from engram.usecases.recording.record import Recorded

DESCRIPTION = (
    "Record something learned. The entry is on disk when the command returns, and committed shortly after."
)
EXAMPLES = (
    'engram record "Staging rejects uploads of more than 1 MB, because its nginx has the default limit"',
    'engram record "Redelivery happens after a missed ack" --category edge-case-discovery --tag queue',
    "git log -1 --format=%B | engram record - --category decision",
)
ARGUMENTS = (
    *declare(
        RECORD,
        content={"flags": (), "nargs": "?", "metavar": "TEXT"},
        context={"metavar": "TEXT"},
        pinned={"flags": ["--pin"]},
    ),
)


def run(call: Call) -> int:
    from engram.usecases.recording.record import KNOWN, Draft, describe_known, record

    values = values_of(call.arguments, RECORD)
    draft = Draft(**{**values, "content": text_or_stdin(values["content"], "text")})
    done = record(call.store, draft)
    call.wrote = True
    twins = [
        {name: value for name, value in twin._asdict().items() if name != "status"} for twin in done.similar
    ]
    call.output.document(
        {
            "lore": lore_json(call, done.lore, done.path),
            "similar": twins,
            "status": done.status,
            "confirmed": done.confirmed,
            "was": done.was,
            "replaced_by": done.replaced_by,
            "scope": done.scope,
            "redacted": done.redacted,
            "why": done.why,
            "contradictions": [found._asdict() for found in done.contradictions],
        }
    )
    outcome = "Already known:" if done.status == KNOWN else "Recorded"
    call.output.say(f"{outcome} {done.lore.id}  {done.lore.title}")
    if done.status == KNOWN and (known := describe_known(done)):
        call.output.line(known)
    call.output.dim(f"{done.lore.category} · confidence {two_decimals(done.lore.thousandths)} · {done.path}")
    call.mention_own_store()
    if done.redacted:
        call.output.line(f"{counted(done.redacted, 'secret was', 'secrets were')} masked.")
    if done.why:
        call.output.line(WAITS.format(done.why))
    for found in done.contradictions:
        call.output.say(f"It contradicts {found.id} ({found.why}): {found.title}")
    _print_twins(call, done)
    return 0


def _print_twins(call: Call, done: Recorded) -> None:
    from engram.usecases.recording.record import RECORDED
    from engram.usecases.similarity.near_duplicates import describe_similarity

    for twin in done.similar:
        call.output.say(f"{describe_similarity(twin)}:")
        call.output.dim(safe_text(twin.content, lines=True))
    if done.similar and done.status == RECORDED:
        call.output.line(
            "If one says the same, record yours again with --same-as; if yours replaces it, with --supersedes."
        )
