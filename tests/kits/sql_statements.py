"""Statements of strangers, for a fuzz: what SQL has that could write, hide, or go on for ever, put together at random."""

from __future__ import annotations

import hypothesis.strategies as st

from engram.usecases.explore.sql_query import VIEWS

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
# What grows when SQLite puts one SELECT into another: sums, copies, joins and unions, some levels deep.
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
STATEMENTS = st.one_of(_selects, _joined, _named, _recursive, _writes, _grown, st.text(max_size=60))

# Through the statements that an expression may stand before, and into files beside the store.
THROUGH = st.builds("WITH {} AS ({}) {}".format, _names, _selects, _writes)
FILES = st.sampled_from(
    ["ATTACH 'new.db' AS new", "VACUUM INTO 'new.db'", "ATTACH ':memory:' AS new; CREATE TABLE new.a (b)",
     "SELECT writefile('new', title) FROM lore", "SELECT load_extension('./new')", "PRAGMA journal_mode = DELETE",
     "PRAGMA writable_schema = 1", "PRAGMA temp_store_directory = '.'", "SELECT * FROM pragma_wal_checkpoint",
     "EXPLAIN DELETE FROM lore"]
)  # fmt: skip
