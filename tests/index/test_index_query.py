"""Queries of the index see the current files, and a damaged index is rebuilt first."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from index_kit import TEXTS, generation_of, make_indexed_store
from storekit import SECONDS, SteadyClock, disk_full_after, open_test_store

from engram.adapters.files.durable.lock import FileLock
from engram.adapters.index.damage import IndexUnavailableError
from engram.domain.errors import StoreError
from engram.usecases.index import catch_up, freshness
from engram.usecases.index.index_query import query_index, query_without_refresh

if TYPE_CHECKING:
    from engram.adapters.index.index import Generation


def tags_of(generation: Generation) -> list[str]:
    return [*generation.catalog.count_tags()]


def paths_of(generation: Generation) -> list[str]:
    return [hit.path for hit in generation.catalog.select("1")]


def titles_of(generation: Generation) -> list[str]:
    return [hit.title for hit in generation.catalog.select("1")]


def test_a_query_that_finds_damage_is_answered_from_a_rebuilt_index(tmp_path: Path) -> None:
    with make_indexed_store(tmp_path, SteadyClock()) as engram:
        for ask, answer in ((query_index, ["slow"]), (query_without_refresh, [])):
            generation = engram.store.index.look()
            assert generation is not None
            generation.catalog.connection.execute("DROP VIEW tags")
            assert ask(engram.store, tags_of) == answer
            assert (engram.store.index.look() is None) == (ask is query_without_refresh)
            assert query_index(engram.store, tags_of) == ["slow"]


def test_consult_finds_a_new_entry_but_look_up_does_not(tmp_path: Path) -> None:
    with open_test_store(tmp_path, SteadyClock()) as engram:
        assert query_without_refresh(engram.store, paths_of) == []
        path = engram.record(TEXTS[0][0]).path
        assert query_without_refresh(engram.store, paths_of) == []
        assert query_index(engram.store, paths_of) == query_without_refresh(engram.store, paths_of) == [path]


def test_in_a_large_store_only_a_thorough_query_finds_files_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", -1)
    monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", -1)
    clock = SteadyClock()
    with make_indexed_store(tmp_path, clock) as engram:
        clock.ahead = 10 * SECONDS
        path = tmp_path / query_index(engram.store, paths_of)[0]
        path.write_text("# Herons wait\n")
        engram.store.watchable = False
        assert "Herons wait" not in query_index(engram.store, titles_of)
        assert "Herons wait" in query_index(engram.store, titles_of, thorough=True)


def test_queries_are_refused_while_another_process_builds_the_first_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "_LOCK_SECONDS", 0)
    with open_test_store(tmp_path) as engram:
        engram.store.index.make_folder()
        lock = FileLock(os.path.join(engram.store.index.folder, "writer.lock"))
        with lock.tried() as held:
            assert held
            with pytest.raises(StoreError, match="cannot be built"):
                query_index(engram.store, paths_of)


def test_on_a_full_disk_the_index_is_kept_and_answers_until_a_file_changes(
    tmp_path: Path,
) -> None:
    clock = SteadyClock()
    make_indexed_store(tmp_path, clock).close()
    before = generation_of(tmp_path)
    with open_test_store(tmp_path, clock) as engram:
        with disk_full_after():
            assert len(engram.list(limit=None).lore) == len(TEXTS)
            assert engram.query(TEXTS[0][0]).strategy == "hybrid"
            clock.ahead = 40 * 86_400 * SECONDS  # the index would record decayed confidences
            assert len(query_index(engram.store, paths_of)) == len(TEXTS)
            path = tmp_path / engram.list().lore[0].path
            path.rename(path.with_name("moved.md"))
            with pytest.raises(IndexUnavailableError, match="cannot be written now"):
                query_index(engram.store, paths_of)
        assert generation_of(tmp_path) == before
        assert [path for path in query_index(engram.store, paths_of) if path.endswith("moved.md")]
