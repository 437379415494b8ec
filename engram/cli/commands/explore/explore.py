"""`engram explore`: show the contents of a store, level by level or in groups."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD
from engram.cli.parsing import declare, switch, values_of
from engram.cli.tables import show_table
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING
from engram.operations.explore import EXPLORE, GROUPS, PARTITION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.explore.tables import Table

DESCRIPTION = (
    "Explore a large store. Depth 0 counts entries by scope, 1 by category and lists the tables that `engram sql`\n"
    "can query, 2 shows their fields (with --table also their values), 3 a few rows. --by groups the entries\n"
    "instead; --peek is a first look: types, statuses, commonest tags, dates, the best few entries."
)
EXAMPLES = (
    "engram explore",
    "engram explore --depth 2 --table lore",
    "engram explore --by tag --limit 10",
    "engram explore --peek",
)
ARGUMENTS = (
    *declare(EXPLORE, table={"metavar": "NAME"}, sample_size={"flags": ["--samples"]}),
    switch("--peek", "show an overview"),
    *declare(
        PARTITION,
        key={"flags": ["--by"], "default": "", "choices": GROUPS},
        limit={"help": "with --by: how many groups (default: 20)"},
    ),
)


def run(call: Call) -> int:
    level, groups = values_of(call.arguments, EXPLORE), values_of(call.arguments, PARTITION)
    peeks = call.arguments.peek
    if sum(map(bool, (groups["key"], peeks, level["depth"] or level["table"]))) > 1:
        raise UsageError("--by, --peek and --depth/--table cannot be combined.", "Choose one.")
    from engram.usecases.explore.explore import explore, partition, peek

    if groups["key"]:
        # --scope has chosen the store already, so it is not passed on: grouping by scope covers all scopes.
        table = partition(call.store, **groups)
        call.output.document(table.as_dict())
        show_table(call.output, table)
        return 0
    if peeks:
        tables = peek(call.store, samples=level["sample_size"])
        call.output.document(
            {"scope": call.store.places.scope, "tables": [table.as_dict() for table in tables]}
        )
        _show_tables(call, tables)
        return 0
    found = explore(call.store, scope=call.scope, **level)
    call.output.document(found.as_dict())
    _show_tables(call, found.tables)
    return 0


def _show_tables(call: Call, tables: Sequence[Table]) -> None:
    """Print tables; several ones with their names."""
    for number, table in enumerate(tables):
        if number:
            call.output.line()
        if len(tables) > 1:
            call.output.line(call.output.styled(table.name, BOLD))
        show_table(call.output, table)
