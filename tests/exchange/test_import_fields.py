"""Fields in exports of other tools: under other names, one level deeper, in other formats, or reported as unusable."""

from __future__ import annotations

import json

import pytest

from engram.adapters.files.foreign.interchange import read_rows
from tests.exchange.import_kit import row


@pytest.mark.parametrize("key", ["content", "text", "body", "memory", "observation", "fact", "page_content"])
def test_content_is_found_under_the_names_that_tools_give_it(key: str) -> None:
    assert row({key: " said "}) == {"content": "said"}


def test_fields_are_found_under_other_names_and_one_level_deeper() -> None:
    found = row(
        {
            "memory": "Likes tabs",
            "metadata": {"labels": "style, editor,,style", "kind": "preference"},
            "createdAt": "2024-09-03T10:16:05.490548-07:00",
            "confidence": "85%",
            "owner": "u1",
        }
    )
    assert found == {
        "content": "Likes tabs",
        "tags": ["style", "editor"],
        "category": "preference",
        "created_at": "2024-09-03T17:16:05.490Z",
        "confidence": 0.85,
        "properties": {"owner": "u1"},
    }


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({"type": "decision"}, {"category": "decision"}),
        ({"type": "episodic"}, {"type": "episodic"}),
        ({"category": "FAILURE", "type": "episodic"}, {"category": "FAILURE", "type": "episodic"}),
        ({"memory_type": "Semantic", "type": "decision"}, {"category": "decision", "type": "semantic"}),
        ({"type": "memory"}, {}),
    ],
)
def test_the_field_type_is_a_type_of_lore_or_else_a_category(
    value: dict[str, str], fields: dict[str, str]
) -> None:
    assert row({"content": "x", **value}) == {"content": "x", **fields}


@pytest.mark.parametrize(
    ("given_time", "expected"),
    [
        ("2024-03-01", "2024-03-01T00:00:00Z"),
        ("20240301", "2024-03-01T00:00:00Z"),
        ("2024-03-01T10:00:00+02:00", "2024-03-01T08:00:00Z"),
        (1709251200, "2024-03-01T00:00:00Z"),
        (1709251200000, "2024-03-01T00:00:00Z"),
        (1709251200.5, "2024-03-01T00:00:00.500Z"),
        ("1709251200", "2024-03-01T00:00:00Z"),
    ],
)
def test_times_are_read_in_common_formats(given_time: object, expected: str) -> None:
    assert row({"content": "x", "timestamp": given_time})["created_at"] == expected


@pytest.mark.parametrize(
    "bad",
    [
        {"confidence": 7},
        {"confidence": "high"},
        {"confidence": True},
        {"confidence": float("nan")},
        {"importance": -0.1},
        {"created_at": "yesterday"},
        {"created_at": 1e300},
        {"created_at": float("inf")},
        {"created_at": "9999-12-31T23:59:59-12:00"},
        {"tags": 7},
        {"pinned": "yes"},
        {"validation_count": -1},
        {"votes": [1]},
        {"votes": {"a": {"up": 1.5}}},
        {"relations": "all"},
        {"context": {"a": 1}},
        {"title": ["a"]},
    ],
)
def test_an_unusable_value_is_reported_and_the_row_is_kept(bad: dict[str, object]) -> None:
    _, rows, problems = read_rows(json.dumps({"content": "x", **bad}).encode(), "a.json")
    assert [found.fields for found in rows] == [{"content": "x"}]
    assert [problem["where"] for problem in problems] == ["a.json#1"]
    assert f"'{next(iter(bad))}' was left out" in problems[0]["message"]
