"""SQL whose clauses and columns would copy each other endlessly is refused by its text."""

from __future__ import annotations

import pytest

from engram.domain.errors import UsageError
from engram.domain.explore import sql_text

EVERYDAY = """
    WITH judged AS (SELECT id, max(helpful) AS best, count(*) AS times FROM history WHERE op != '' GROUP BY id),
    spread AS (SELECT tags.id, count(DISTINCT tag) AS tags FROM tags JOIN judged ON tags.id = judged.id GROUP BY tags.id)
    SELECT lore.id, lore.title, judged.best, spread.tags, (SELECT count(*) FROM relations WHERE relations.id = lore.id) AS ways
    FROM lore JOIN judged ON judged.id = lore.id LEFT JOIN spread ON spread.id = lore.id
    WHERE lore.id IN (SELECT id FROM files WHERE file LIKE 'src/%') AND NOT EXISTS
        (SELECT 1 FROM relations WHERE relations.other = lore.id AND kind = 'supersedes')
    ORDER BY judged.best DESC, judged.times DESC, lore.id LIMIT 20
"""

FLAT = "SELECT count(*) FROM lore a, lore b WHERE " + " AND ".join(
    ["a.id = b.id AND b.confidence > 0.5"] * 400
)


def copies(levels: int, *, names: str = "a{}", of: str = "") -> str:
    """Return a statement each of whose expressions refers to the one before twice."""
    parts = [f"{names.format(0)} AS (SELECT 1 AS i)"]
    parts += [
        f"{names.format(n)}{of} AS (SELECT 1 AS i FROM {names.format(n - 1)} x, {names.format(n - 1)} y)"
        for n in range(1, levels)
    ]
    return f"WITH {', '.join(parts)} SELECT count(*) FROM {names.format(levels - 1)}"


def nested(levels: int) -> str:
    inner = "SELECT 1 AS i"
    for _ in range(levels):
        inner = f"WITH a AS ({inner}) SELECT 1 AS i FROM a x, a y"
    return inner


@pytest.mark.parametrize(
    "sql", [copies(40), copies(40, names='"a {}"'), copies(40, names="[a{}]"), copies(40, of="/**/(i)/* */"), nested(20),
            copies(40).replace(" AS (SELECT", " AS NOT MATERIALIZED(SELECT")]
)  # fmt: skip
def test_expressions_that_copy_each_other_never_reach_sqlite(sql: str) -> None:
    with pytest.raises(UsageError, match="refer to each other too often"):
        sql_text.check(sql)


def grown(levels: int, width: int, *, form: str = "FROM ({})") -> str:
    """Return a statement each of whose SELECTs adds up a column of the inner one this many times."""
    found = "SELECT length AS a FROM lore"
    for _ in range(levels):
        found = f"SELECT {'+'.join('a' * width)} AS a {form.format(found)}"
    return found


def chained(levels: int, width: int, name: str = "a", of: str = "") -> str:
    parts = [
        f"t{n}{of} AS (SELECT {'+'.join([name] * width)} AS {name} FROM t{n - 1})" for n in range(1, levels)
    ]
    return (
        f"WITH t0 AS (SELECT length AS {name} FROM lore), {', '.join(parts)} SELECT {name} FROM t{levels - 1}"
    )


OUTER = f"SELECT ({grown(2, 60, form='FROM (SELECT b AS a)')}) FROM (SELECT a AS b FROM ({grown(2, 60)}))"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {'+'.join(['(1+2)'] * 1000)} b FROM lore WHERE {'+'.join('b' * 1000)}", grown(4, 60), grown(3, 90),
        grown(3, 80, form="FROM (tags JOIN ({0}))"), grown(4, 60).replace("AS a", "a"),
        chained(24, 2), chained(40, 2, '"+"'), chained(24, 2, '"as"'), chained(24, 2, "A", "(a)"), OUTER,
    ],
)  # fmt: skip
def test_columns_that_copy_each_other_never_reach_sqlite(sql: str) -> None:
    with pytest.raises(UsageError, match="referred to too often"):
        sql_text.check(sql)


def test_a_few_references_to_columns_are_allowed() -> None:
    for sql in (
        grown(8, 2),
        chained(9, 2, of="(a)"),
        grown(2, 40),
        FLAT,
        'SELECT "", count(*) FROM lore',
        EVERYDAY,
    ):
        sql_text.check(sql)


def test_a_few_references_to_expressions_are_allowed() -> None:
    sql_text.check(copies(6))
    sql = "WITH a AS (SELECT id, title FROM lore), b AS (SELECT a.id FROM a) SELECT count(a.title) FROM a JOIN b ON a.id = b.id"
    sql_text.check(sql)
