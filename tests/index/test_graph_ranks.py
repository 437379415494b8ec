"""The importance of nodes is stored with its graph, and kept if it cannot be replaced."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from engram.adapters.index.catalog import Catalog
from engram.adapters.index.graph_ranks import RankedGraph, has_ranks, load_ranks, ranked_graph, save_ranks


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(str(tmp_path / "catalog.db"), create=True)


def test_importance_is_stored_until_the_graph_changes(catalog: Catalog) -> None:
    assert not has_ranks(catalog.connection)
    assert ranked_graph(catalog) == RankedGraph()
    assert save_ranks(catalog, RankedGraph("stamp", "digest"), {"a": 0.5, "b": 0.25})
    assert has_ranks(catalog.connection)
    assert save_ranks(catalog, RankedGraph("later", "digest"), None)
    assert load_ranks(catalog) == {"a": 0.5, "b": 0.25}
    assert ranked_graph(catalog) == RankedGraph("later", "digest")
    assert save_ranks(catalog, RankedGraph("other", "other"), {"c": 1.0})
    assert load_ranks(catalog) == {"c": 1.0}
    assert load_ranks(catalog, ["a", "c"]) == {"c": 1.0}
    assert not catalog.connection.in_transaction


def test_importance_is_not_stored_while_another_process_writes(catalog: Catalog) -> None:
    catalog.share()
    other = Catalog(catalog.path)
    other.connection.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    assert not save_ranks(catalog, RankedGraph("stamp", "digest"), {"a": 0.5})
    assert time.monotonic() - began < 5, "importance can wait"
    other.connection.execute("ROLLBACK")
    assert catalog.connection.execute("PRAGMA busy_timeout").fetchone() == (10_000,)
    assert load_ranks(catalog) == {}


def test_a_failure_to_store_importance_keeps_the_old_values(catalog: Catalog) -> None:
    assert save_ranks(catalog, RankedGraph("stamp", "digest"), {"a": 0.5})
    with pytest.raises(sqlite3.IntegrityError):
        save_ranks(catalog, RankedGraph("other", "other"), {"b": None})  # type: ignore[dict-item]
    assert load_ranks(catalog) == {"a": 0.5}
    assert ranked_graph(catalog) == RankedGraph("stamp", "digest")
    assert not catalog.connection.in_transaction
