"""Untrusted SQL reads the documented views and nothing else, writes nothing, and ends soon. Real SQLite, real files."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import pytest
from apikit import COLOUR, QUEUE, TIDES, SetClock, dedicated, make_plain_store, open_test_store
from effort import examples
from hypothesis import given, settings
from sql_kit import FILES, SOON, STATEMENTS, THROUGH, answered, refused, rows

from engram.adapters.sql.functions import FUNCTIONS
from engram.adapters.state.trust_tables import QuarantinedText
from engram.domain.errors import StoreError, UsageError
from engram.domain.explore import sql_text
from engram.domain.explore.tables import Limits, Table
from engram.usecases.explore.sql_query import VIEWS, execute
from engram.usecases.store import activity_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram

NAMES = [view.name for view in VIEWS]
WAITS = "Waitsforaperson and nobody else."
HIDDEN = "hiddeninthestate"


@pytest.fixture(scope="module")
def engram(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """Make a store with rows for each view, with pending and quarantined entries, and with data that no view shows."""
    with open_test_store(dedicated(tmp_path_factory.mktemp("sql") / "store")) as engram:
        first = engram.record(
            QUEUE, category="fact", tags=["queue", "ops"], files=["a.py", 'b\\n "c".py'], entities="Kafka"
        )
        engram.record(
            "Second.",
            category="workflow",
            relations=[("supersedes", first.lore.id), ("refines", first.lore.id)],
        )
        engram.record(WAITS, category="fact", status="pending", tags=["waits"], entities=["Waits"], files=["waits.py"],
                      relations=[("see_also", first.lore.id)])  # fmt: skip
        engram.query("queue consumer")
        engram.feedback(helpful="L1")
        engram.store.state.put_aside(HIDDEN, HIDDEN, None)
        engram.execute("SELECT 1 FROM history")
        yield engram


def on_disk(engram: Engram) -> dict[str, str]:
    """Return digests of all files except those in which SQLite records readers."""
    found = {}
    for folder, _, names in os.walk(engram.path):
        for name in names:
            if not name.endswith("-shm"):
                path = Path(folder) / name
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


# --- what it answers


def test_each_view_has_its_documented_columns_and_rows(engram: Engram) -> None:
    for view in VIEWS:
        found = execute(engram.store, f"SELECT * FROM {view.name}")
        assert found.columns == tuple(column.name for column in view.columns), view.name
        assert rows(engram, f"SELECT count(*) FROM {view.name}") == [(len(found.rows),)], view.name
        assert found.rows, view.name
        kinds = {"text": str, "integer": int, "real": (int, float)}
        for row in found.rows:
            for column, cell in zip(view.columns, row, strict=True):
                assert cell is None or isinstance(cell, kinds[column.type]), (view.name, column.name, cell)


def test_views_have_the_values_of_the_entries(engram: Engram) -> None:
    (lore,) = [one.lore for one in engram.list(tags="queue").lore]
    assert rows(engram, "SELECT id, confidence, helpful, agent FROM lore WHERE title = ?", lore.title) == [
        (lore.id, lore.confidence, 1, "tester")
    ]
    joined = "SELECT tag FROM tags JOIN lore USING (id) WHERE title = :title ORDER BY tag"
    assert execute(engram.store, joined, {"title": lore.title}).rows == (("ops",), ("queue",))
    assert rows(engram, "SELECT file FROM files WHERE id = ?", lore.id) == [("a.py",), ('b\\n "c".py',)]
    assert rows(engram, "SELECT kind FROM relations WHERE other = ? ORDER BY 1", lore.id, waiting=False) == [
        ("refines",), ("supersedes",)
    ]  # fmt: skip
    assert rows(engram, "SELECT entity FROM entities WHERE id = ?", lore.id) == [("Kafka",)]
    assert rows(engram, "SELECT kind, confidence, helpful FROM history WHERE id = ?", lore.id) == [
        ("added", 0.7, 0)
    ], "a judgement changes no file"
    shown = "SELECT value FROM retrievals, json_each(ids) WHERE action = 'query'"
    assert (lore.id,) in rows(engram, shown)


def test_pending_lore_is_seen_by_people_only(engram: Engram) -> None:
    assert rows(engram, "SELECT title FROM lore WHERE status = 'pending'") == [(WAITS,)]
    (lore_id,) = rows(engram, "SELECT id FROM lore WHERE status = 'pending'")[0]
    for name in set(NAMES) - {"retrievals", "judgements"}:
        assert rows(engram, f"SELECT 1 FROM {name} WHERE id = ?", lore_id), name
        assert not rows(engram, f"SELECT 1 FROM {name} WHERE id = ?", lore_id, waiting=False), name
    for name in NAMES:
        assert WAITS not in str(rows(engram, f"SELECT * FROM {name}", waiting=False)), name


def test_quarantined_lore_is_seen_by_people_only(tmp_path: Path, home: Path) -> None:
    settings = home / ".config/engram/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[trust]\nhold = "foreign"\n')
    with open_test_store(make_plain_store(tmp_path / "held")) as engram:
        ids = [engram.record(text, category="fact", tags=["all"]).lore.id for text in (QUEUE, TIDES, COLOUR)]
        engram.refresh()
        (text,) = engram.store.index.look().catalog.select("id = ?", [ids[1]])
        held = (
            QuarantinedText(ids[1], text.text_digest, "", "foreign", 0.0),
            QuarantinedText(ids[2], "of a text before", "", "foreign", 0.0),
        )
        engram.store.state.trust.quarantine(held)
        assert rows(engram, "SELECT id FROM tags ORDER BY id", waiting=False) == [(ids[0],), (ids[2],)]
        assert len(rows(engram, "SELECT id FROM tags")) == 3


def test_an_operation_on_very_many_entries_can_be_queried(tmp_path: Path) -> None:
    with open_test_store(make_plain_store(tmp_path / "many")) as engram:
        activity_log.note(engram.store, "forget", ids=["01M82JC93GQ0XQAEPPDJZ15RPV"] * 5000)
        assert rows(engram, "SELECT count(*) FROM retrievals, json_each(ids)") == [(1000,)]


def test_outside_git_there_is_no_history_and_no_error(tmp_path: Path) -> None:
    with open_test_store(make_plain_store(tmp_path / "plain")) as engram:
        assert rows(engram, "SELECT count(*), (SELECT count(*) FROM lore) FROM history") == [(0, 0)]


def test_values_unknown_to_json_are_returned_as_text(engram: Engram) -> None:
    assert rows(engram, "SELECT x'00ff', 9e999, -9e999, CAST(x'ff41' AS TEXT), NULL") == [
        ("x'00ff'", "inf", "-inf", "\ufffdA", None)
    ]


def test_a_result_is_truncated_at_its_limits_and_says_so(engram: Engram) -> None:
    numbers = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, printf('%100d', i) FROM n"
    )
    few = execute(engram.store, numbers, (), Limits(rows=3))
    assert (len(few.rows), few.truncated) == (3, True)
    narrow = execute(engram.store, numbers, (), Limits(rows=1000, characters=1000))
    assert (len(narrow.rows), narrow.truncated) == (9, True)
    assert not execute(engram.store, "SELECT 1", (), Limits(rows=1)).truncated
    assert "first row alone" in refused(engram, "SELECT printf('%30000d', 1)")


# --- what it refuses

UNIONS = " UNION ALL ".join(["SELECT length AS a FROM lore"] * 20)
ATTACKS = {
    "ATTACH 'x.db' AS x": "not allowed",
    "DETACH catalog": "not allowed",
    "PRAGMA journal_mode=DELETE": "not allowed",
    "SELECT * FROM pragma_database_list": "not allowed",
    "VACUUM INTO 'x.db'": "not allowed",
    "DELETE FROM lore": "SQLite cannot run that: cannot modify lore because it is a view",
    "WITH gone AS (SELECT 1) DELETE FROM catalog.files": "not allowed",
    "WITH new(a) AS (SELECT 1) INSERT INTO catalog.meta SELECT a, a FROM new": "not allowed",
    "UPDATE catalog.files SET title = 'x' RETURNING id": "not allowed",
    "INSERT INTO catalog.files_fts VALUES (1)": "no such table",
    "CREATE TEMP TABLE mine (a)": "not allowed",
    "CREATE TABLE mine (a)": "not allowed",
    "CREATE VIRTUAL TABLE mine USING fts5(a)": "not allowed",
    "CREATE TEMP VIEW lore AS SELECT 1": "not allowed",
    "DROP VIEW lore": "not allowed",
    "ALTER TABLE lore RENAME TO x": "",
    "BEGIN": "not allowed",
    "COMMIT": "not allowed",
    "SAVEPOINT x": "not allowed",
    "REINDEX": "",
    "ANALYZE": "not allowed",
    "SELECT load_extension('x')": "not allowed",
    "SELECT writefile('x', 'y')": "no such function",
    "SELECT readfile('x')": "no such function",
    "SELECT fts3_tokenizer('simple')": "",
    "SELECT sqlite_compileoption_get(1)": "not allowed",
    "SELECT trim('a', 'b')": "not allowed",
    "SELECT * FROM sqlite_master": "not allowed",
    "SELECT * FROM temp.sqlite_temp_master": "not allowed",
    "SELECT * FROM catalog.sqlite_schema": "not allowed",
    "SELECT * FROM sqlite_dbpage": "",
    "SELECT * FROM dbstat": "",
    "SELECT * FROM catalog.files": "not allowed",
    "WITH lore AS (SELECT * FROM catalog.files) SELECT * FROM lore": "not allowed",
    "WITH tags AS (SELECT * FROM row_tags) SELECT * FROM tags": "not allowed",
    "SELECT * FROM (SELECT * FROM catalog.files) AS lore": "not allowed",
    "SELECT 1 FROM catalog.files WHERE title != ''": "not allowed",
    "SELECT count(tag) FROM row_tags": "not allowed",
    "SELECT title FROM lore JOIN row_tags USING (id)": "cannot join using column",
    "SELECT item FROM retrievals, state.set_aside": "not allowed",
    "WITH retrievals AS (SELECT * FROM state.set_aside) SELECT * FROM retrievals": "not allowed",
    "SELECT row FROM lore": "no such column",
    "SELECT 1; SELECT 2": "Only one statement is allowed",
    "SELECT 1; DROP VIEW lore": "Only one statement is allowed",
    "": "There is no SQL",
    " -- nothing\n": "Only SELECT",
    "/* nothing */": "Only SELECT",
    "SELECT 1 \0 FROM lore": "",
    "SELECT '\ud800'": "",
    "SELEC 1": "syntax error",
    "SELECT :tag": "binding",
    "SELECT $a(')": "parameter cannot be followed",
    "SELECT " + "NOT " * 3000 + "1": "SQLite cannot run that",
    "SELECT 1" + " UNION ALL SELECT 1" * 30: "too many terms",
    "SELECT " + "1," * 200 + "1": "too many columns",
    "SELECT 1 -- " + "x" * sql_text.LONGEST: "at most 20,000 are allowed",
    "SELECT randomblob(2000000000)": "too big",
    "SELECT zeroblob(2000000000)": "too big",
    "SELECT length(replace(hex(zeroblob(40000)), '0', hex(zeroblob(40000))))": "too big",
    "SELECT group_concat(hex(randomblob(20000))) FROM (VALUES (1), (2), (3), (4))": "too big",
    f"SELECT 1 FROM ({UNIONS}) x, ({UNIONS}) y, ({UNIONS}) z": "too many steps",
    "SELECT 1 FROM lore WHERE title LIKE '" + "%a" * 200 + "'": "too complex",
}  # fmt: skip


def test_attacks_are_refused_with_a_message_and_change_nothing(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(engram.path)
    execute(engram.store, "SELECT count(*) FROM retrievals, history")
    before = on_disk(engram)
    for sql, why in ATTACKS.items():
        assert why in refused(engram, sql), sql
    assert on_disk(engram) == before


def test_a_statement_that_would_fill_the_memory_is_stopped(engram: Engram) -> None:
    bomb = (
        "WITH RECURSIVE n(x) AS (SELECT randomblob(45000) UNION ALL SELECT randomblob(45000) FROM n, (VALUES (1), (2)))"
        " SELECT count(*) FROM n"
    )
    assert "needed more than 30 MB" in refused(engram, bomb, Limits(seconds=20, megabytes=30))


def test_a_file_that_is_not_a_catalog_is_an_error_with_a_message(engram: Engram, tmp_path: Path) -> None:
    from engram.adapters.sql.guarded import Guarded

    (tmp_path / "catalog.db").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="cannot be queried"):
        Guarded({"catalog": str(tmp_path / "catalog.db")}, VIEWS)


def test_every_function_of_the_list_that_this_sqlite_has_can_be_called(engram: Engram) -> None:
    known = {name for (name,) in sqlite3.connect(":memory:").execute("SELECT name FROM pragma_function_list")}
    assert len(FUNCTIONS & known) > 60
    assert rows(
        engram,
        "SELECT upper('a'), date(0, 'unixepoch'), json_extract('{\"a\": 1}', '$.a'), '[1]' ->> 0, abs(-1)",
    ) == [("A", "1970-01-01", 1, 1, 1)]
    ranks = (
        "SELECT row_number() OVER w, sum(i) OVER w FROM (VALUES (1), (2)) AS t(i) WINDOW w AS (ORDER BY 1)"
    )
    assert len(rows(engram, ranks.replace(" AS t(i)", "").replace("sum(i)", "sum(column1)"))) == 2


# --- a fuzz


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"a": "x" * 200_000}, "too big"),
        ({"a": 1 << 70}, "too large"),
        ({"b": 1}, "binding"),
        ({"a": "\ud800"}, "surrogates"),
        ({f"a{number}": number for number in range(1000)}, "binding"),
    ],
)
def test_parameter_values_are_limited_too(engram: Engram, values: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        execute(engram.store, "SELECT :a", values, waiting=False)
    assert execute(engram.store, "SELECT :a, :b", {"a": "x'); DROP VIEW lore; --", "b": None}).rows == (
        ("x'); DROP VIEW lore; --", None),
    )


@settings(max_examples=examples(5, 300), deadline=None)
@given(st.lists(st.one_of(THROUGH, FILES), min_size=2, max_size=8))
def test_no_statement_changes_a_file(engram: Engram, statements: list[str]) -> None:
    execute(engram.store, "SELECT count(*) FROM retrievals, history")
    before, folder = on_disk(engram), Path.cwd()
    os.chdir(engram.path)
    try:
        for sql in statements:
            answered(engram, sql)
    finally:
        os.chdir(folder)
    assert on_disk(engram) == before


@settings(max_examples=examples(60, 5000), deadline=None)
@given(STATEMENTS)
def test_no_statement_writes_anything_or_reveals_hidden_entries(engram: Engram, sql: str) -> None:
    store = engram.store
    before = (os.stat(store.state.path).st_mtime_ns, store.index.look().catalog.version())
    began = time.process_time()
    found = answered(engram, sql)
    if found is not None:
        assert isinstance(found, Table)
        assert len(found.rows) <= SOON.rows
        said = str(found.rows)
        assert len(said) < 3 * SOON.characters
        assert not any(hidden in said for hidden in (WAITS, HIDDEN, "waits.py"))
    assert time.process_time() - began < 2
    assert before == (os.stat(store.state.path).st_mtime_ns, store.index.look().catalog.version())


def test_sql_reads_every_line_of_the_ledgers_with_its_time(tmp_path: Path) -> None:
    store = open_test_store(dedicated(tmp_path / "store"), clock=SetClock())
    empty = execute(store.store, "SELECT count(*) FROM judgements").rows
    assert [list(row) for row in empty] == [[0]]
    lore_id = store.record(QUEUE, category="FACT").lore.id
    store.feedback(helpful=lore_id)
    store.feedback(incorrect=lore_id)
    store.undo()
    query = "SELECT id, kind, at, of != '', source FROM judgements ORDER BY line"
    at = f"{store.store.clock.now():%Y-%m-%dT%H:%M:%SZ}"
    source = store.store.source_id
    assert [list(row) for row in execute(store.store, query).rows] == [
        [lore_id, "helpful", at, 0, source],
        [lore_id, "incorrect", at, 0, source],
        [lore_id, "retracted", at, 1, source],
    ]
