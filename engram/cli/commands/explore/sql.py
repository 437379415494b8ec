"""`engram sql`: query the store in SQL."""

from __future__ import annotations

from engram.cli.invocation import Call, text_or_stdin
from engram.cli.parsing import argument, repeatable
from engram.cli.tables import parse_parameters, show_table
from engram.domain.explore.tables import Limits

DESCRIPTION = (
    "Query the store in SQL: one SELECT over the tables lore, tags, entities, relations, files, retrievals,\n"
    "history and judgements (`engram explore --depth 2` shows their fields). Nothing can be written, and a query\n"
    "may take two seconds at most."
)
EXAMPLES = (
    'engram sql "SELECT category, count(*) FROM lore GROUP BY 1 ORDER BY 2 DESC"',
    'engram sql "SELECT title FROM lore JOIN tags USING (id) WHERE tag = :tag" --param tag=queue',
    "engram sql - --json < question.sql",
)
_MOST_CHARACTERS = 1_000_000
_MOST_ROWS = 10_000
ARGUMENTS = (
    argument("sql", "SQL", "the statement (- or nothing: standard input)", nargs="?"),
    repeatable("--param", "NAME=VALUE", "a value for :NAME"),
    argument(
        "--limit", "N", f"how many rows to show (default 100, at most {_MOST_ROWS:,})", type=int, default=100
    ),
)


def run(call: Call) -> int:
    from engram.domain.errors import UsageError
    from engram.usecases.explore.sql_query import execute

    given = call.arguments
    if not 1 <= given.limit <= _MOST_ROWS:
        raise UsageError(f"The limit must be from 1 to {_MOST_ROWS:,}, not {given.limit}.")
    limits = Limits(given.limit, _MOST_CHARACTERS)
    found = execute(call.store, text_or_stdin(given.sql, "SQL"), parse_parameters(given.param), limits)
    call.output.document(found.as_dict())
    show_table(call.output, found)
    return 0
