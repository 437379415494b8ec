"""`engram review`: list the review queue, and decide about its items."""

from __future__ import annotations

from engram.cli.invocation import Call, text_or_stdin
from engram.cli.output import BOLD, CYAN, DIM, shorten
from engram.cli.parsing import argument, declare_parameter, repeatable, switch
from engram.cli.present import lore_json
from engram.domain.errors import UsageError
from engram.domain.review.review import CONFLICT, DECISIONS, EDIT, KINDS, MERGE, Item
from engram.domain.text.counted_nouns import counted
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING
from engram.operations.recall import FILTERS

if TYPE_CHECKING:
    from engram.usecases.review.decisions import Decided
    from engram.usecases.review.review import Queue

DESCRIPTION = (
    "Without a decision, list what waits for a person, the most valuable first, with the reason and a proposal.\n"
    "With one, decide about items by id, or about all of a kind. A decision that changes files is one\n"
    "commit, which `engram undo` reverts."
)
EXAMPLES = (
    "engram review",
    "engram review --kind pending --kind conflict --limit 50",
    "engram review accept 3f2a9c",
    "engram review mine 5c1e07",
    'engram review accept 5c1e07 --content "The port is 8080."',
    "engram review merge 81d0 --dry-run",
    "engram review archive --kind stale --all",
    "engram review archive --kind weak --category fact --older-than 365 --all --dry-run",
    "engram review snooze 3f2a9c --days 30",
    "engram review --proposal queues-7k3f accept 01M805C3",
)

_MOST_DIFFERENCES = 12  # lines of a conflict
ARGUMENTS = (
    argument("decision", "DECISION", ", ".join(DECISIONS), nargs="?", choices=DECISIONS),
    argument("items", "ITEM", "ids of items, or the start of them", nargs="*"),
    repeatable("--kind", "KIND", f"only items of this kind: {', '.join(KINDS)}", choices=KINDS),
    repeatable("--agent", "NAME", "only entries recorded by this agent"),
    *map(declare_parameter, FILTERS),
    argument("--older-than", "DAYS", "only lore older than this", type=float, default=0.0),
    argument("--min-confidence", "F", "only lore of this confidence or more", type=float, default=0.0),
    argument("--max-confidence", "F", "only lore of this confidence or less", type=float, default=1.0),
    argument(
        "--content",
        "TEXT",
        "with a decision about one item: the text of the entry that is kept; - reads standard input",
    ),
    argument("--limit", "N", "how many to list (default 20)", type=int, default=20),
    switch("--all", "list all; with a decision: decide all matching items of these kinds"),
    argument("--days", "N", "how long a snooze lasts (default 7)", type=float, default=7.0),
    argument(
        "--proposal",
        "NAME",
        "review a proposal: ITEM is an entry of it, accepted or rejected; the last decision brings it in",
        default="",
    ),
    argument("--reason", "TEXT", "with --proposal: why an entry is rejected", default=""),
    switch("--dry-run", "show the result of a decision; change nothing"),
)


def run(call: Call) -> int:
    given = call.arguments
    if given.proposal:
        from engram.cli.commands.review.proposal import run as run_proposal

        return run_proposal(call)
    if given.reason:
        raise UsageError(
            "--reason is only for --proposal.", "engram review --proposal NAME reject ENTRY --reason TEXT"
        )
    return _decide(call) if given.decision else _list(call)


def _list(call: Call) -> int:
    given = call.arguments
    found = _find_matching(call, None if given.all else max(0, given.limit))
    call.output.document(
        {"items": [_item_json(item) for item in found.items], "total": found.total, "by_kind": found.by_kind}
    )
    for item in found.items:
        call.output.lines(_format_item(call, item))
    if not found.total:
        call.output.line(
            "Nothing that matches waits for you." if _describe_filters(call) else "Nothing waits for you."
        )
    else:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.by_kind.items())
        more = "" if len(found.items) == found.total else f"{len(found.items)} of {found.total:,} shown; "
        call.output.dim(f"{more}{kinds}. engram review DECISION ITEM")
    return 0


def _find_matching(call: Call, limit: int | None) -> Queue:
    """Return the items that match the filters."""
    from engram.usecases.review.review import EntryFilter, review

    given = call.arguments
    wanted = EntryFilter(
        given.categories, given.tags, given.older_than, given.min_confidence, given.max_confidence
    )
    return review(call.store, kinds=given.kind, agents=given.agent, wanted=wanted, limit=limit)


def _describe_filters(call: Call) -> list[str]:
    """Describe the given filters to people."""
    given = call.arguments
    lists = {"kind": given.kind, "agent": given.agent, "category": given.categories, "tag": given.tags}
    found = [f"{name} {', '.join(values)}" for name, values in lists.items() if values]
    found += [f"older than {given.older_than:g} days"] if given.older_than else []
    if (given.min_confidence, given.max_confidence) != (0, 1):
        found.append(f"confidence {given.min_confidence:g} to {given.max_confidence:g}")
    return found


def _decide(call: Call) -> int:
    from engram.usecases.review.decisions import decide_all, preview
    from engram.usecases.review.review import find_item

    given = call.arguments
    if given.decision == EDIT:
        raise UsageError(
            "`edit` needs an editor.", "Run `engram edit REF`; the item disappears once its reason is gone."
        )
    if bool(given.items) == given.all:
        raise UsageError("Name the items: their ids, or --kind KIND --all.", "`engram review` lists them.")
    if given.all and not given.kind:
        raise UsageError(
            "--all needs --kind: one decision fits items of one kind.", "For example: --kind stale --all"
        )
    items = (
        list(_find_matching(call, None).items)
        if given.all
        else [find_item(call.store, name) for name in given.items]
    )
    question = f"{given.decision} {counted(len(items), 'item')} ({'; '.join(_describe_filters(call))})?"
    if given.content is not None:
        done = [_decide_with_text(call, items)]
    elif given.dry_run:
        done = [preview(call.store, item, given.decision) for item in items]
    elif not (
        call.confirm(question) if given.all and items else call.may_delete(_unrecoverable(call, items))
    ):
        call.output.line("Nothing was changed.")
        return 0
    else:
        done = decide_all(call.store, items, given.decision, days=given.days)
        call.wrote = True
    _commit_settlements(call, done)
    call.output.document(
        {"decided": [_decided_json(call, decided) for decided in done], "dry_run": given.dry_run}
    )
    for decided in done:
        _print_result(call, decided, dry=given.dry_run)
    if not done:
        call.output.line("Nothing fits.")
    return 0


def _unrecoverable(call: Call, items: list[Item]) -> list[str]:
    """Return the files that the decision deletes and Engram could not restore."""
    from engram.usecases.review.decisions import preview

    if call.store.places.owns_branch:
        return []
    planned = {item: preview(call.store, item, call.arguments.decision).lore for item in items}
    return [
        path
        for item, entries in planned.items()
        for lore_id, path in zip(item.lore, item.paths, strict=False)
        if entries.get(lore_id, ...) is None
    ]


def _commit_settlements(call: Call, done: list[Decided]) -> None:
    """Commit settled conflicts now; other decisions are committed in the background."""
    if call.wrote and any(decided.item.kind == CONFLICT and decided.wrote for decided in done):
        from engram.usecases.store.commit import commit_quietly

        problem = commit_quietly(call.store)
        if problem:
            call.output.note(f"Not in git yet: {problem}")


def _decide_with_text(call: Call, items: list[Item]) -> Decided:
    """Decide about one item; the entry that is kept gets the text of --content."""
    from engram.usecases.recording.record import normalize_content
    from engram.usecases.review.decisions import decide, preview

    given = call.arguments
    planned = preview(call.store, items[0], given.decision) if len(items) == 1 else None
    written = [entry for entry in planned.lore.values() if entry is not None] if planned else []
    if planned is None or not written:
        raise UsageError(
            "--content needs a single item and a decision that writes an entry.",
            "For example: merge, or accept.",
        )
    kept = written[-1]  # the newer one if it supersedes another; else there is only one
    wanted = kept._replace(content=normalize_content(text_or_stdin(given.content, "text")))
    if given.dry_run:
        return planned._replace(lore={**planned.lore, kept.id: wanted})
    call.wrote = True
    return decide(call.store, items[0], given.decision, result=wanted)


def _item_json(item: Item) -> dict[str, object]:
    fields = {**item._asdict(), "decisions": list(item.decisions)}
    del fields["mark"]
    return fields


def _format_item(call: Call, item: Item) -> list[str]:
    """Return the lines of an item: kind and title, reason, evidence, proposed decision."""
    styled = call.output.styled
    width = call.output.width
    head = f"{styled(item.id, CYAN)} {item.kind:<13} "
    room = max(10, width - len(item.id) - 15)
    evidence = item.evidence[: _MOST_DIFFERENCES if item.kind == CONFLICT else 3]
    about = "".join([f"{name} · " for name in item.lore[:1] or item.paths[:1]])
    cost = f" · {counted(item.cost, 'token')}" if item.cost else ""
    return [
        head + styled(shorten(safe_text(item.title), room), BOLD),
        f"    {safe_text(item.why)}",
        *(styled("    " + shorten(safe_text(line), width - 4), DIM) for line in evidence),
        styled(f"    {safe_text(about)}proposed: {item.proposed}{cost}", DIM),
    ]


def _decided_json(call: Call, done: Decided) -> dict[str, object]:
    from engram.domain.graph.entity import entity_json

    paths = dict(zip(done.item.lore, done.item.paths, strict=False))
    lore = {
        lore_id: lore and lore_json(call, lore, paths.get(lore_id, "")) for lore_id, lore in done.lore.items()
    }
    entities = {slug: entity and entity_json(entity) for slug, entity in done.entities.items()}
    return {"item": _item_json(done.item), "decision": done.decision, "lore": lore, "entities": entities}


def _print_result(call: Call, done: Decided, *, dry: bool) -> None:
    what = done.item.decisions[done.decision]
    would = "would " if dry else ""
    call.output.say(f"{done.item.id} {would}{done.decision} “{done.item.title}”: {what}.")
    if done.item.kind == CONFLICT and not dry:
        for lore in done.lore.values():
            if lore is not None:
                call.output.line("The text is now:")
                call.output.say(lore.content, lines=True)
    if dry and done.decision == MERGE:
        kept = next(lore for lore in done.lore.values() if lore is not None)
        call.output.line()
        call.output.say(kept.content, lines=True)
        call.output.dim(
            f"confidence {kept.confidence:.2f} · tags {', '.join(kept.tags)} · context {' / '.join(kept.context)}"
        )
