"""`engram list`: lore by filter and order."""

from __future__ import annotations

import sys

from engram.cli.invocation import Call
from engram.cli.parsing import declare, switch, values_of
from engram.cli.present import hit_line
from engram.domain.entry.lore import check_words
from engram.domain.text.counted_nouns import entries
from engram.operations.lookup import LIST

DESCRIPTION = (
    "List lore, newest first: confidence, category, title, age, how often it was found helpful (✓) and its\n"
    "importance, from its use so far (◆, 0 to 1)."
)
EXAMPLES = (
    "engram list",
    "engram list --category decision --sort confidence --limit 50",
    "engram list --tag queue --json",
    'engram list --when "git push"',
)
ARGUMENTS = (
    *declare(LIST, sort={"metavar": "KEY"}, when={"nargs": "?", "const": "", "metavar": "TEXT"}),
    switch("--all", "list all"),
)


def run(call: Call) -> int:
    from engram.usecases.history.origin import known_origins
    from engram.usecases.lookup.listing import list_hits, list_lore
    from engram.usecases.recall.search import is_past
    from engram.usecases.recall.usage import usefulness_of_each
    from engram.usecases.store.people import with_authors
    from engram.usecases.store.quarantine import quarantined_texts

    options = values_of(call.arguments, LIST)
    check_words("tags", options["tags"])
    options["limit"] = None if call.arguments.all else min(options["limit"], sys.maxsize)
    hits, total = list_hits(call.store, **options)
    worth = usefulness_of_each(call.store, hits)
    if call.output.json:
        found = list_lore(call.store, **options)
        horizon = call.store.scope.horizon(call.store.clock.now().timestamp())
        rows = [
            {
                **one.as_dict(),
                "past_retention": is_past(one.lore, horizon),
                "held": origin.held,
                "trust": origin.trust._asdict(),
                "worth": worth.get(one.lore.id),
            }
            for one, origin in zip(
                found.lore, known_origins(call.store, [one.lore for one in found.lore]), strict=True
            )
        ]
        call.output.document({"lore": rows, "total": found.total})
        return 0
    now = call.store.clock.now().timestamp()
    quarantined = quarantined_texts(call.store)
    valued = any(one["importance"] for one in worth.values())
    for hit in with_authors(call.store, hits):
        waits = hit.text_digest in (quarantined.get(hit.id) or ())
        importance = worth[hit.id]["importance"] if valued else None
        call.output.line(hit_line(call, hit, now, "held" if waits else hit.status, importance))
    if not total and (
        options["categories"] or options["tags"] or options["status"] or options["when"] is not None
    ):
        call.output.line("No entry matches.")
    elif not total:
        call.output.line("No lore here yet.")
        call.tell_own_store()
        call.output.rule('Next: engram record "what you learned" --category fact')
    elif total > len(hits):
        call.output.rule(f"{len(hits)} of {entries(total)}; --limit N or --all shows more")
    else:
        call.output.rule(entries(total))
    return 0
