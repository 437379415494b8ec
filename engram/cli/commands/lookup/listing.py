"""`engram list`: list lore by filter and order."""

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
    from engram.usecases.recall.search import is_past_retention
    from engram.usecases.recall.usage import usefulness_of_each
    from engram.usecases.store.people import with_authors
    from engram.usecases.store.quarantine import quarantined_texts

    options = values_of(call.arguments, LIST)
    check_words("tags", options["tags"])
    options["limit"] = None if call.arguments.all else min(options["limit"], sys.maxsize)
    hits, total = list_hits(call.store, **options)
    worth = usefulness_of_each(call.store, hits)
    now = call.store.clock.now().timestamp()
    if call.output.json:
        found = list_lore(call.store, **options)
        horizon = call.store.scope.horizon(now)
        rows = [
            {
                **entry.as_dict(),
                "past_retention": is_past_retention(entry.lore, horizon),
                "held": origin.held,
                "trust": origin.trust._asdict(),
                "worth": worth.get(entry.lore.id),
            }
            for entry, origin in zip(
                found.lore, known_origins(call.store, [entry.lore for entry in found.lore]), strict=True
            )
        ]
        call.output.document({"lore": rows, "total": found.total})
        return 0
    quarantined = quarantined_texts(call.store)
    has_worth = any(usage["importance"] for usage in worth.values())
    for hit in with_authors(call.store, hits):
        status = "held" if hit.text_digest in (quarantined.get(hit.id) or ()) else hit.status
        importance = worth[hit.id]["importance"] if has_worth else None
        call.output.line(hit_line(call, hit, now, status, importance))
    if not total and (
        options["categories"] or options["tags"] or options["status"] or options["when"] is not None
    ):
        call.output.line("No entry matches.")
    elif not total:
        call.output.line("No lore here yet.")
        call.mention_own_store()
        call.output.dim('Next: engram record "what you learned" --category fact')
    elif total > len(hits):
        call.output.dim(f"{len(hits)} of {entries(total)}; --limit N or --all shows more")
    else:
        call.output.dim(entries(total))
    return 0
