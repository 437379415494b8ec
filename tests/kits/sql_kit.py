"""SQL queries of a store: answers, refusals, and random statements that try to write, hide or run for ever."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import pytest

from engram.adapters.sql.functions import FUNCTIONS
from engram.domain.errors import UsageError
from engram.domain.explore.tables import Limits, Table
from engram.usecases.explore.sql_query import VIEWS, execute

if TYPE_CHECKING:
    from engram.app import Engram

SOON = Limits(seconds=0.05)


def rows(engram: Engram, sql: str, *values: object, **more: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in execute(engram.store, sql, values, **more).rows]


def refused(engram: Engram, sql: str, limits: Limits = Limits()) -> str:  # noqa: B008 - a tuple
    with pytest.raises(UsageError) as told:
        execute(engram.store, sql, (), limits, waiting=False)
    assert told.value.message.endswith(".")
    assert told.value.hint
    return told.value.message


def answered(engram: Engram, sql: str) -> Table | None:
    """Run a statement; return the answer, or None if it is refused with a message."""
    try:
        return execute(engram.store, sql, (), SOON, waiting=False)
    except UsageError as error:
        told = error.message
    assert told.endswith(".")
    return None


HUGE = 2_147_483_647
NAMES = [view.name for view in VIEWS]
RAW = (
    "catalog.files", "files", "row_tags", "row_tokens", "state.votes", "state.set_aside", "past.meta", "sqlite_master", "temp.lore"
)  # fmt: skip
_names = st.sampled_from([*NAMES, *RAW, "x", "json_each(x)", "(VALUES (1), (2))", "pragma_table_list"])
_columns = st.sampled_from(
    ["*", "id", "title", "count(*)", "rowid", "digest", "item", "randomblob(99999)", "printf('%99999d', 1)", "hex(zeroblob(90000))",
     "load_extension('x')", "writefile('x', 1)", "(SELECT max(title) FROM lore)", "group_concat(title)", ":x", "?", "x'00'", "'",
     "/*"]
)  # fmt: skip
_tails = st.sampled_from(
    ["", ";", "--", "LIMIT -1", "ORDER BY random()", "GROUP BY 1", "WHERE 1 = 1 OR", "UNION ALL SELECT * FROM lore", "RETURNING *",
     "; DELETE FROM lore", "WHERE title MATCH 'a'", "INDEXED BY files_id", "\0", "EXCEPT SELECT 1"]
)  # fmt: skip
_selects = st.builds("SELECT {} FROM {} {}".format, _columns, _names, _tails)
_joined = st.builds("SELECT {} FROM {}, {} {}".format, _columns, _names, _names, _tails)
_named = st.builds("WITH {} AS ({}) {}".format, _names, _selects, st.one_of(_selects, _joined))
_recursive = st.builds(
    "WITH RECURSIVE x(i) AS (SELECT {0} UNION ALL SELECT {0} FROM x) {1}".format, _columns, _selects
)
_writes = st.builds(
    "{} {} {}".format,
    st.sampled_from(["DELETE FROM", "INSERT INTO", "UPDATE", "DROP TABLE", "CREATE VIEW", "CREATE TRIGGER", "PRAGMA", "ATTACH",
                     "EXPLAIN", "REPLACE INTO"]),
    _names,
    st.sampled_from(["", "VALUES (1)", "SET title = 1", "AS SELECT 1", "DEFAULT VALUES", "= 1", "SELECT * FROM lore"]),
)  # fmt: skip
# Statements that grow when SQLite flattens subqueries: sums, copies, joins and unions, several levels deep.
_grown = st.recursive(
    st.sampled_from(["SELECT length AS a FROM lore", "SELECT 1 AS a", "VALUES (1)", "SELECT id a FROM tags"]),
    lambda inner: st.one_of(
        st.builds("SELECT {} AS a FROM ({}) {}".format, st.integers(1, 60).map(lambda n: "+".join("a" * n)), inner, _tails),
        st.builds("SELECT x.a FROM ({}) x, ({}) y, lore {}".format, inner, inner, _tails),
        st.builds("SELECT *, * FROM ({}) NATURAL JOIN ({})".format, inner, inner),
        st.builds("{} UNION ALL {}".format, inner, inner),
        st.builds("WITH b(a) AS ({}) SELECT a || a AS a FROM b {}".format, inner, _tails),
        st.builds("SELECT ({}) AS a FROM ({})".format, inner, inner),
    ),
    max_leaves=12,
)  # fmt: skip
# Expensive calls: every function of this SQLite with long texts, huge numbers and demanding formats, in one column or many,
# in a loop or without one.
_known = sqlite3.connect(":memory:").execute("SELECT DISTINCT name, narg, type FROM pragma_function_list")
_arities = sorted(known for known in _known if known[0] in FUNCTIONS and known[0] not in ("->", "->>"))
_like, _glob = (
    "'%' || replace(hex(zeroblob(48)), '0', 'a') || 'b'",
    "'*' || replace(hex(zeroblob(9)), '0', '[a-z]') || 'b'",
)
# A row of two texts has at most 50,000 bytes.
_texts = st.sampled_from(
    [
        f"replace(hex(zeroblob(24900)), '0', 'a') AS a, {_like} AS b",
        f"replace(hex(zeroblob(24900)), '0', 'a') AS a, {_glob} AS b",
        "replace(hex(zeroblob(16500)), '0', 'a') AS a, replace(hex(zeroblob(8200)), '0', 'a') || 'b' AS b",
        "'[' || replace(hex(zeroblob(24900)), '00', '1,') || '1]' AS a, '$[24000]' AS b",
        "replace(hex(zeroblob(24900)), '00', '%f') AS a, '%d' AS b",
        "replace(hex(zeroblob(24900)), '00', char(305)) AS a, char(305) AS b",
        "'0.' || replace(hex(zeroblob(24900)), '00', '01') AS a, char(1) AS b",
    ]
)
_numbers = st.one_of(
    st.sampled_from(["0", "1", "5", "20", "1000", "9999"]),
    st.sampled_from([49_999, 100_000_000, HUGE, -HUGE, 1 << 40, (1 << 63) - 1, 1e308]).map(str),
)
_size = st.one_of(st.sampled_from(["", "*"]), _numbers)
_conversions = st.builds(
    "%{}{}{}{}{}".format, st.sampled_from(["", "-", "0", "+", "!", ",", "#"]), _size,
    st.one_of(st.just(""), _size.map(".{}".format)), st.sampled_from(["", "", "l"]), st.sampled_from("dfeEgGsqQwcxXoui%zpr"),
)  # fmt: skip
_formats = st.lists(_conversions, min_size=1, max_size=3).map(lambda parts: f"'{''.join(parts)}'")
_arguments = st.one_of(
    st.sampled_from("aab"), _numbers, _formats, st.sampled_from(["'$[9]'", "'x'", "NULL", "i", "'now'", "'+1 day'", "a || i"])
)  # fmt: skip


def _call(known: tuple[str, int, str]) -> st.SearchStrategy[str]:
    name, count, kind = known
    least, most = (1, 5) if count < 0 else (count, count)
    call = st.lists(_arguments, min_size=least, max_size=most).map(
        lambda values: f"{name}({', '.join(values)})"
    )
    return call.map("{} OVER (ORDER BY i)".format) if kind == "w" else call


_calls = st.one_of(
    st.sampled_from(_arities).flatmap(_call),
    st.builds(
        "{}({}, {}, {})".format,
        st.sampled_from(["printf", "format", "FORMAT"]),
        _formats,
        _numbers,
        _arguments,
    ),
    st.builds(
        "{} {} {}".format,
        _arguments,
        st.sampled_from(["LIKE", "GLOB", "->>", "||", "+", "< '' COLLATE NOCASE ="]),
        _arguments,
    ),
)
COSTLY = st.builds(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {})"
    " SELECT {} FROM n CROSS JOIN (SELECT {} LIMIT 1) {}".format,
    st.sampled_from([1, 1, 100, 300_000, 100_000_000]),
    st.builds(
        lambda call, each, columns: ", ".join([" + ".join([f"length({call})"] * each)] * columns),
        _calls, st.integers(1, 4), st.sampled_from([1, 4, 30, 90]),
    ),
    _texts,
    st.one_of(
        st.sampled_from(["", "ORDER BY i % 9, a COLLATE NOCASE", "ORDER BY substr(a, 1, 300) || random() COLLATE NOCASE"]),
        st.builds("{} {}".format, st.sampled_from(["ORDER BY", "GROUP BY"]), _calls),
    ),
)  # fmt: skip
STATEMENTS = st.one_of(_selects, _joined, _named, _recursive, _writes, _grown, st.text(max_size=60))

# By statements that may follow an expression, and into files beside the store.
THROUGH = st.builds("WITH {} AS ({}) {}".format, _names, _selects, _writes)
FILES = st.sampled_from(
    ["ATTACH 'new.db' AS new", "VACUUM INTO 'new.db'", "ATTACH ':memory:' AS new; CREATE TABLE new.a (b)",
     "SELECT writefile('new', title) FROM lore", "SELECT load_extension('./new')", "PRAGMA journal_mode = DELETE",
     "PRAGMA writable_schema = 1", "PRAGMA temp_store_directory = '.'", "SELECT * FROM pragma_wal_checkpoint",
     "EXPLAIN DELETE FROM lore"]
)  # fmt: skip
