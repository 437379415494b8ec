"""SQL ends in time, whatever functions it calls with whatever arguments. Real SQLite, CPU time."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, TIDES, make_plain_store, open_test_store
from effort import examples
from hypothesis import given, settings
from sql_kit import COSTLY, HUGE, SOON, answered, refused, rows

from engram.domain.errors import UsageError
from engram.domain.explore.tables import Limits
from engram.usecases.explore.sql_query import execute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram

HALF = Limits(seconds=0.5)


@pytest.fixture(scope="module")
def engram(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """Make a store with three entries and a retrieval."""
    with open_test_store(make_plain_store(tmp_path_factory.mktemp("sql") / "store")) as engram:
        for text in (QUEUE, TIDES, COLOUR):
            engram.record(text, category="fact")
        engram.query("queue consumer")
        yield engram


BOMBS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n ORDER BY -i",
    "SELECT count(*) FROM " + ", ".join(f"retrievals AS r{number}" for number in range(20)),
    "SELECT 1 FROM retrievals, " + ", ".join(f"lore AS r{number}" for number in range(40)) + " WHERE 0 > r39.length",
)  # fmt: skip


# One call takes 5 ms.
SLOW = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    " SELECT sum(instr(replace(hex(zeroblob(24000)), '0', 'a') || i, replace(hex(zeroblob(12000)), '0', 'a') || i || 'b')) FROM n"
)


@pytest.mark.parametrize("bomb", [*BOMBS, SLOW])
def test_a_statement_that_would_run_too_long_is_stopped(engram: Engram, bomb: str) -> None:
    began = time.process_time()
    assert "took longer than 0.05 seconds" in refused(engram, bomb, SOON)
    assert time.process_time() - began < 2


# One call would write 2 GB, or look through 50,000 bytes for 100 at each place.
FORMATS = (
    f"printf('%.*c', {HUGE}, 'x')",
    f"printf('%.{HUGE}c', 'x')",
    f"printf('%{HUGE}d', 1)",
    f"printf('%.{HUGE}d', 1)",
    f"printf('%.*f', {HUGE}, 1.5)",
    f"printf('%!.*f', {HUGE}, 1e300)",
    f"printf('%*s', {HUGE}, 'x')",
    f"printf('%-*s', -{HUGE}, 'x')",
    f"format('%.*c', {HUGE}, 'x')",
    f"FORMAT('%.*c', {HUGE}, 'x')",
    f"\"PrintF\"('%.*c', {HUGE}, 'x')",
    f"printf('%.*c%.*c%.*c', {HUGE}, 'x', {HUGE}, 'x', {HUGE}, 'x')",
    f"printf('%s%d%.*c', 1, 2, {HUGE}, 'x')",
    f"printf('%.*c', '{HUGE}', 'x')",
    f"printf('%.*c', {HUGE}.0, 'x')",
    f"printf(CAST('%.*c' AS BLOB), {HUGE}, 'x')",
    f"printf('%-5-.{HUGE}c', 'x')",
    f"printf('%' || '.{HUGE}c', 'x')",
    "printf('%' || replace(hex(zeroblob(3000)), '0', '9') || 'd', 1)",
)


@pytest.mark.parametrize("call", FORMATS)
def test_a_format_that_would_write_too_much_is_refused_at_once(engram: Engram, call: str) -> None:
    columns = ", ".join([f"length({call})"] * 4)
    began = time.process_time()
    told = refused(engram, f"SELECT {columns}", HALF)
    assert "would write more than 50,000" in told or "whole number" in told or "does not know" in told, told
    refused(engram, f"SELECT {columns} FROM json_each('[1, 2]')", HALF)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT length(printf(:format, :size, 'x')) FROM json_each('[1, 2]')",
        "SELECT length(printf('%.*c', value, 'x')) FROM json_each('[' || :size || ']')",
        "WITH RECURSIVE n(i) AS (SELECT :size UNION ALL SELECT i - 1 FROM n) SELECT sum(length(format('%.*c', i, :format))) FROM n",
        "SELECT 1 FROM lore GROUP BY printf(:format, :size, 'x') ORDER BY printf(:format, :size, 'y')",
    ],
)
def test_a_format_from_a_parameter_or_a_row_is_refused_too(engram: Engram, sql: str) -> None:
    began = time.process_time()
    with pytest.raises(UsageError, match="would write more than 50,000"):
        execute(engram.store, sql, {"format": "%.*c", "size": HUGE}, HALF)
    assert time.process_time() - began < 1


def test_formats_patterns_and_replacements_give_the_same_as_sqlite(engram: Engram) -> None:
    ours = r"""
        printf('%05.2f', 3.14159), format('%s', title), printf('%*d|%-*s|%.*f', 6, 42, 4, 'a', 2, 2.5), printf('%5.1f%%', 50),
        printf('%,d', 1234567), printf('%q %Q %w', 'it''s', 'it''s', 'a"b'), printf('%!.15g', 0.1), printf('%x %X %o', 255, 255, 8),
        printf('%.3c', 'é'), printf('%e', 12.5), printf('%+d % d', 1, 1), printf('%lld', 1 << 40), printf(), printf(NULL),
        printf(5), printf('%s %s', 'one'), printf('ends with %'), instr(title, 'o'), instr(x'0102', x'02'), instr(NULL, 1),
        replace(title, 'o', 'é'), replace(12, 2, 'x'), title LIKE '%O%', title LIKE '%\%' ESCAPE '\', title GLOB '*o*',
        title NOT LIKE NULL, 10 LIKE 1.5, like('A%', 'abc'), glob('a*', 'abc')
    """
    title = "Photo é of a%"
    theirs = sqlite3.connect(":memory:").execute(f"SELECT {ours} FROM (SELECT ? AS title)", [title])
    assert rows(engram, f"SELECT {ours} FROM (SELECT ? AS title)", title) == theirs.fetchall()


LONG = (
    "(SELECT replace(hex(zeroblob(24990)), '0', 'a') AS a, replace(hex(zeroblob(12000)), '0', 'a') || 'b' AS b,"
    " '%' || replace(hex(zeroblob(48)), '0', 'a') || 'b' AS c, '*' || replace(hex(zeroblob(9)), '0', '[a-z]') || 'b' AS d LIMIT 1)"
)


@pytest.mark.parametrize("call", ["instr(a, b)", "(a LIKE c)", "(a GLOB d)", "length(replace(a, b, 1))"])
def test_the_deadline_is_checked_without_a_loop_too(engram: Engram, call: str) -> None:
    sql = f"SELECT {', '.join(['+'.join([call] * 4)] * 90)} FROM {LONG}"
    began = time.process_time()
    assert "took longer than 0.05 seconds" in refused(engram, sql, SOON)
    assert time.process_time() - began < 0.5


def test_the_number_of_steps_is_limited_without_a_loop_too(engram: Engram) -> None:
    """SQLite checks the deadline only in loops."""
    made = "(SELECT replace(hex(zeroblob(24000)), '0', 'a') AS a, replace(hex(zeroblob(12000)), '0', 'a') || 'b' AS b LIMIT 1)"
    calls = ", ".join(["+".join(["instr(a || random(), b)"] * 8)] * 90)
    began = time.process_time()
    assert "too many steps" in refused(engram, f"SELECT {calls} FROM {made}")
    assert time.process_time() - began < 1


@settings(max_examples=examples(40, 5000), deadline=None)
@given(COSTLY)
def test_a_statement_ends_in_time_for_any_arguments_of_a_call(engram: Engram, sql: str) -> None:
    began = time.process_time()
    answered(engram, sql)
    assert time.process_time() - began < SOON.seconds + 1
