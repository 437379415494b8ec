"""The view `judgements` of SQL: every line of the ledgers, whoever wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apikit import QUEUE, SetClock, dedicated, opened

from engram.usecases.explore.sql_query import execute

if TYPE_CHECKING:
    from pathlib import Path


def test_sql_reads_every_line_of_the_ledgers_with_its_time(tmp_path: Path) -> None:
    store = opened(dedicated(tmp_path / "store"), clock=SetClock())
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
