"""`explore`, `partition` and `aggregate`: get an overview of a large store, and merge several rankings."""

from engram.operations.description import MCP, Operation, text, whole

GROUPS = ("category", "type", "tag", "agent", "month", "scope", "file")
_SCOPE = text("scope", front_ends=(MCP,))
_ROWS = whole("limit", "how many", default=20, low=1, high=100)

EXPLORE = Operation("explore", (
    whole("depth", "0 scopes, 1 categories and tables, 2 fields, 3 rows", default=0, low=0, high=3),
    _SCOPE,
    text("table", "with --depth 2 or 3: only this table"),
    whole("sample_size", "with --depth 3: how many rows; with --peek: how many entries", default=3, low=1, high=20),
))  # fmt: skip

PARTITION = Operation("partition", (
    text("key", f"group by {', '.join(GROUPS)}", required=True, choices=GROUPS),
    _SCOPE,
    _ROWS,
))  # fmt: skip

AGGREGATE = Operation("aggregate", (
    whole("k", "damping: the larger, the less the ranks differ", default=60, low=1, high=1000),
    _ROWS,
))  # fmt: skip
