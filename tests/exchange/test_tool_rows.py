"""Rows of other memory tools: every value becomes a field or a property of the entry, or is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import import_path, open_test_store

from engram.adapters.files.foreign.interchange import read_rows
from engram.usecases.graph.graph_building import graph_of

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path / "store")


def test_the_graph_of_mem0_becomes_relationships_of_entities(store: Engram, tmp_path: Path) -> None:
    said = {
        "results": [{"id": "1", "memory": "Ada likes tea", "user_id": "ada"}],
        "relations": [{"source": "ada", "relationship": "works with", "target": "bob"}],
    }
    (tmp_path / "mem0.json").write_text(json.dumps(said), "utf-8")
    done = import_path(store, tmp_path / "mem0.json", kind="mem0")
    assert (done.imported, done.problems) == (2, ())
    related = {(one.source, one.kind, one.target) for one in graph_of(store.store).edges}
    assert any(kind == "works_with" for _, kind, _ in related)


def test_metadata_of_mem0_are_kept_and_an_expired_memory_stays_expired(store: Engram, tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    row = {
        "memory": "Likes tea",
        "id": "m-1",
        "user_id": "ada",
        "expiration_date": "2024-05-01",
        "metadata": {"topic": ["food"], "n": 3},
    }
    file.write_text(json.dumps([row]))
    done = import_path(store, file)
    text = (Path(store.path) / done.paths[0]).read_text()
    for line in (
        "user_id: ada",
        "imported_id: m-1",
        "topic: [food]",
        "expires_at: 2024-05-01T00:00:00Z",
        "n: 3",
    ):
        assert f"\n{line}\n" in text
    assert not store.query("tea").lore
    assert {(one.what, one.where) for one in done.left_out} == {
        (f"`{name}`", "kept as a property of the entry's file")
        for name in ("imported_id", "user_id", "topic", "n")
    }


def test_fields_in_both_a_row_of_mem0_and_its_metadata_are_both_kept(store: Engram, tmp_path: Path) -> None:
    row = {
        "memory": "Likes tea",
        "user_id": "ada",
        "score": 0.25,
        "expires_at": "2031-05-01",
        "expiration_date": "2032-05-01",
        "metadata": {"score": 7, "user_id": "ada", "category": "hobby", "type": "drink", "metadata_score": 9},
    }
    file = tmp_path / "memories.json"
    file.write_text(json.dumps([row, {"memory": "Likes rain", "user_id": "bo", "metadata": "said at noon"}]))
    done = import_path(store, file)
    assert done.problems == ()
    tea, rain = ((Path(store.path) / path).read_text() for path in done.paths)
    for line in (
        "score: 0.25",
        "metadata_score: 7",
        "metadata_metadata_score: 9",
        "user_id: ada",
        "imported_category: hobby",
        "imported_type: drink",
        'expiration_date: "2032-05-01"',
        "expires_at: 2031-05-01T00:00:00Z",
    ):
        assert f"\n{line}\n" in tea
    assert "\nmetadata: said at noon\n" in rain
    assert {one.what for one in done.left_out} >= {
        "`score`",
        "`metadata_score`",
        "`imported_type`",
        "`metadata`",
    }


@pytest.mark.parametrize(
    ("kind", "row", "kept"),
    [
        ("gentleman-engram", {"type": "decision", "title": "T", "content": "Tea."}, {"topic_key": "drinks"}),
        ("facts", {"factType": "insight", "content": "Tea."}, {"scopeId": "all", "accessedCount": 7}),
        ("experience", {"lesson": "Tea helps."}, {"insight": "At four.", "reward": 0.5, "success": True}),
    ],
)  # fmt: skip
def test_unmapped_fields_of_another_tools_row_become_properties(
    kind: str, row: dict[str, object], kept: dict[str, object]
) -> None:
    told, (found,), problems = read_rows(json.dumps([{**row, **kept}]).encode(), "rows.json", kind)
    assert (told, found.fields["properties"], problems) == (kind, kept, ())
