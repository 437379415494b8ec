"""`engram show`: show an entry in full."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.cli.present import lore_lines

DESCRIPTION = (
    "Show one entry in full, by ref (L1), id, start of an id, or words of an entry this session has seen."
)
EXAMPLES = ("engram show L1", "engram show 01M805C3 --json", "engram show L2 --raw")
ARGUMENTS = (
    argument("name", "REF", "which entry"),
    switch("-v --verbose", "also the id of the clone that recorded it"),
    switch("--raw", "print the file as it is"),
)


def run(call: Call) -> int:
    from engram.adapters.files.frontmatter.origin import origin_of
    from engram.usecases.history.origin import origin
    from engram.usecases.lookup.listing import get
    from engram.usecases.opening.scopes import open_scope_of
    from engram.usecases.recall.usage import usefulness_of
    from engram.usecases.store import activity_log, learned_moments

    shown = get(call.store, call.arguments.name)
    store = open_scope_of(call.store, shown.scope)
    raw = store.files.read(shown.path)
    worth = usefulness_of(store, shown.lore)
    found, promoted = origin(store, shown.lore, shown.path), origin_of(raw)
    learned = learned_moments.list_learned(store).get(shown.lore.id, [])
    more = {
        "ref": shown.ref or None,
        "scope": shown.scope,
        "origin": found.as_dict(),
        "promoted_from": promoted and promoted._asdict(),
        "worth": worth,
        "learned_when": learned,
    }
    activity_log.note(call.store, "get", ids=[shown.lore.id])
    call.output.document({"lore": {**shown.as_dict(), **more}})
    if call.arguments.raw and not call.output.json:
        import sys

        if sys.stdout.isatty():
            call.output.say(raw.decode("utf-8", "replace"), lines=True)
        else:
            sys.stdout.buffer.write(raw)
        return 0
    call.output.lines(
        lore_lines(call, shown, found, promoted, worth, learned=learned, verbose=call.arguments.verbose)
    )
    return 0
