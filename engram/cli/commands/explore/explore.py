"""`engram explore`: what a store holds, level by level, and in groups."""

from __future__ import annotations

from engram.cli.output import BOLD
from engram.cli.tables import show_table
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from engram.cli.call import Call
    from engram.domain.explore.tables import Table

DESCRIPTION = (
    "Find your way in a large store. Depth 0 counts lore by scope, 1 by kind and says which tables `engram sql`\n"
    "can ask, 2 shows their fields (with --table also what those hold), 3 a few rows. --by groups lore instead,\n"
    "--peek is a first look: types, statuses, commonest tags, dates, the best few lore."
)
EXAMPLES = (
    "engram explore",
    "engram explore --depth 2 --table lore",
    "engram explore --by tag --limit 10",
    "engram explore --peek",
)
_KEYS = ("category", "type", "tag", "agent", "month", "scope", "file")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "--depth",
        type=int,
        default=0,
        metavar="N",
        help="0 scopes (default), 1 kinds and tables, 2 fields, 3 rows",
    )
    add("--table", default="", metavar="NAME", help="with --depth 2 or 3: of which table")
    add(
        "--samples",
        type=int,
        default=3,
        metavar="N",
        help="with --depth 3: how many rows; with --peek: how many lore (default 3)",
    )
    add("--peek", action="store_true", help="a first look")
    add("--by", default="", choices=_KEYS, metavar="KEY", help=f"groups by {', '.join(_KEYS)}")
    add("--limit", type=int, default=20, metavar="N", help="with --by: how many groups (default 20)")


def run(call: Call) -> int:
    """Look and show."""
    given = call.arguments
    if sum(map(bool, (given.by, given.peek, given.depth or given.table))) > 1:
        raise UsageError(
            "--by shows groups, --peek a first look, --depth and --table levels.", "Ask for one of them."
        )
    if given.by:
        from engram.usecases.explore.explore import partition

        # The scope that was named is the one this store is; grouping by scope is about all of them.
        found = partition(call.store, given.by, limit=given.limit)
        call.output.document(found.as_dict())
        show_table(call.output, found)
        return 0
    if given.peek:
        from engram.usecases.explore.explore import peek

        tables = peek(call.store, samples=given.samples)
        call.output.document(
            {"scope": call.store.places.scope, "tables": [table.as_dict() for table in tables]}
        )
        _show(call, tables)
        return 0
    from engram.usecases.explore.explore import explore

    level = explore(call.store, given.depth, scope=call.scope, table=given.table, sample_size=given.samples)
    call.output.document(level.as_dict())
    _show(call, level.tables)
    return 0


def _show(call: Call, tables: Sequence[Table]) -> None:
    """Several tables, each with its name."""
    for number, table in enumerate(tables):
        if number:
            call.output.line()
        if len(tables) > 1:
            call.output.line(call.output.styled(table.name, BOLD))
        show_table(call.output, table)
