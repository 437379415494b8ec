"""JSON import and export: Engram reads its own export back; rows of other tools become fields of entries or problems."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.files.foreign.interchange import MAX_BYTES, ImportRow, read_rows, write_json, write_jsonl
from engram.adapters.files.foreign.tool_rows import EntityRow
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Conflict, Lore, Relation, Settlement, lore_as_dict
from tests.exchange.import_kit import row

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FIRST, SECOND = "01KDYA0000000000000000000A", "01KDYA0000000000000000000B"
PLAIN = Lore(FIRST, "# Title\n\nBody", "FACT", NOW, NOW)
FULL = PLAIN._replace(
    category="FAILURE",
    type="episodic",
    status="pending",
    votes={"K7QM2X9T": Vote(160, 0, 2)},
    last_validated=NOW,
    context=("first", "second"),
    tags=("a", "b"),
    files=("src/a.py",),
    entities=("Redis",),
    when=("command: git push",),
    relations=(Relation("refines", SECOND),),
    merged_from=(SECOND,),
    importance=0.5,
    pinned=True,
    expires_at=NOW,
    agent="claude-code",
    author="Ada Lovelace",
    source_id=SECOND,
    sources=(SECOND,),
    conflicts=(
        Conflict("content", "other", "P3ZD8W1A", "2026-01-01T00:00:00Z", "Ann", "2026-01-02T00:00:00Z"),
    ),
    settled=(Settlement("content:0123456789ab", "kept", "Ann", "2026-01-01T00:00:00Z"),),
)


def test_the_json_of_an_entry_has_every_field_under_its_documented_name() -> None:
    assert lore_as_dict(FULL, "2026/01/02/title.md") == {
        "id": FIRST,
        "title": "Title",
        "content": "# Title\n\nBody",
        "context": ["first", "second"],
        "category": "FAILURE",
        "confidence": 0.96,
        "stated": 0.7,
        "state": "authoritative",
        "validation_count": 2,
        "last_validated": "2026-01-02T03:04:05Z",
        "type": "episodic",
        "status": "pending",
        "tags": ["a", "b"],
        "files": ["src/a.py"],
        "entities": ["Redis"],
        "when": ["command: git push"],
        "relations": [{"kind": "refines", "id": SECOND}],
        "merged_from": [SECOND],
        "importance": 0.5,
        "pinned": True,
        "expires_at": "2026-01-02T03:04:05Z",
        "agent": "claude-code",
        "author": "Ada Lovelace",
        "source_id": SECOND,
        "sources": [SECOND],
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:04:05Z",
        "votes": {"K7QM2X9T": {"up": 160, "down": 0, "n": 2}},
        "conflicts": [
            {
                "field": "content",
                "value": "other",
                "from": "P3ZD8W1A",
                "at": "2026-01-01T00:00:00Z",
                "kept_from": "Ann",
                "kept_at": "2026-01-02T00:00:00Z",
            }
        ],
        "settled": [
            {
                "of": "content:0123456789ab",
                "chose": "kept",
                "by": "Ann",
                "at": "2026-01-01T00:00:00Z",
            }
        ],
        "disputed": "disputed: Ann says # Title Body (2026-01-02), P3ZD8W1A says other (2026-01-01)",
        "path": "2026/01/02/title.md",
    }


def test_every_field_of_an_entry_is_in_its_json() -> None:
    assert set(Lore._fields) - set(lore_as_dict(FULL, "x")) == {"prior", "tally", "name"}


def test_confidence_beyond_the_range_in_a_file_of_format_1_is_clamped_on_export() -> None:
    stated = [lore_as_dict(PLAIN._replace(prior=prior), "x")["stated"] for prior in (-150, 1080)]
    assert stated == [0.0, 1.0]


def test_a_single_context_is_exported_as_a_string_and_none_as_null() -> None:
    assert lore_as_dict(PLAIN, "x")["context"] is None
    assert lore_as_dict(PLAIN._replace(context=("one",)), "x")["context"] == "one"


@pytest.mark.parametrize("lore", [PLAIN, FULL])
def test_an_export_is_read_back_with_all_fields(lore: Lore) -> None:
    exported = lore_as_dict(lore, "a/b.md")
    kept = {
        key: value
        for key, value in exported.items()
        if value not in (None, "", [], {}) and key not in ("state", "disputed")
    }
    kept["context"] = list(lore.context)
    if not lore.context:
        del kept["context"]
    for data, name, where in (
        (write_json([exported]), "out.json", "out.json#1"),
        (b"".join(write_jsonl([exported])), "out.jsonl", "out.jsonl:1"),
    ):
        assert read_rows(data, name)[1:] == ((ImportRow(kept, where),), ())


@given(st.lists(st.text(min_size=1).filter(lambda text: text.strip() and "\0" not in text), max_size=5))
def test_any_text_survives_export_and_import(texts: list[str]) -> None:
    whole = [{"content": text.strip()} for text in texts]
    for data, name in ((write_json(whole), "a.json"), (b"".join(write_jsonl(whole)), "a.jsonl")):
        _, rows, problems = read_rows(data, name)
        if texts or name == "a.json":
            assert not problems
        assert [row.fields for row in rows] == [{"content": text.strip()} for text in texts]


def test_invalid_lines_of_a_jsonl_file_are_reported_by_number_and_others_read() -> None:
    data = b'{"content": "one"}\n\n{"content": broken}\n"two"\n[1]\n{"title": "only"}\n\xff\xfe\n'
    data += b'{"text": "three"}'
    _, rows, problems = read_rows(data, "notes.jsonl")
    assert [(found.where, found.fields["content"]) for found in rows] == [
        ("notes.jsonl:1", "one"),
        ("notes.jsonl:4", "two"),
        ("notes.jsonl:8", "three"),
    ]
    assert [problem["where"] for problem in problems] == [f"notes.jsonl:{number}" for number in (3, 5, 6, 7)]
    assert all(problem["message"] and problem["hint"] for problem in problems)
    assert "column 13" in problems[0]["message"]


def test_bad_rows_of_an_array_do_not_stop_the_others() -> None:
    _, rows, problems = read_rows(b'[{"body": "one"}, 7, null, {"body": ""}, {"body": "two"}]', "a.json")
    assert [found.where for found in rows] == ["a.json#1", "a.json#5"]
    assert [problem["where"] for problem in problems] == ["a.json#2", "a.json#3", "a.json#4"]


@pytest.mark.parametrize(
    "document",
    [
        [{"content": "x"}],
        {"lore": [{"content": "x"}], "total": 1},
        {"memories": [{"content": "x"}]},
        {"results": [{"memory": "x"}]},
        {"data": {"results": [{"memory": "x"}]}},
        {"content": "x"},
        ["x"],
        "x",
    ],
)
def test_rows_are_found_in_the_structures_that_tools_export(document: object) -> None:
    _, rows, problems = read_rows(json.dumps(document, indent=1).encode(), "a.json")
    assert ([found.fields for found in rows], problems) == ([{"content": "x"}], ())


def test_unmapped_keys_of_a_row_become_properties() -> None:
    found = row(
        {
            "text": "Pumps are primed by hand",
            "summary": "Prime the pumps",
            "name": "Pumps",
            "title": "Pumps",
            "type": "memory",
            "score": 0.5,
            "done": True,
            "empty": "",
            "metadata": {"score": 2, "shift": ["night", "day"], "memory_type": "fact"},
        }
    )
    assert found["properties"] == {
        "summary": "Prime the pumps",
        "score": 0.5,
        "done": True,
        "metadata_score": 2,
        "shift": ["night", "day"],
    }
    mixed = row({"observations": ["One text", {"at": 4}]})
    assert (mixed["content"], mixed["properties"]) == ("One text", {"observations": ["One text", {"at": 4}]})
    assert "properties" not in row({"from": "Ada", "relationType": "knows", "to": "Bob"})


def test_a_graph_of_entities_and_relations_becomes_rows() -> None:
    lines = [
        {
            "type": "entity",
            "name": "billing",
            "entityType": "service",
            "observations": ["Runs on Go", "Owned by Ada"],
        },
        {"type": "entity", "name": "ada", "entityType": "person", "observations": ["Prefers mornings"]},
        {"type": "relation", "from": "ada", "to": "billing", "relationType": "owns"},
        {"type": "relation", "from": "nobody", "to": "billing", "relationType": "owns"},
    ]
    expected = [
        {
            "content": "- Runs on Go\n- Owned by Ada",
            "title": "billing",
            "tags": ["service"],
            "entities": ["billing"],
        },
        {
            "content": "- Prefers mornings\n- owns [[billing]]",
            "title": "ada",
            "tags": ["person"],
            "entities": ["ada"],
        },
        {"content": "nobody owns billing"},
        {"entity": EntityRow("billing", "", "", (("kind", "service"),))},
        {"entity": EntityRow("ada", "", "person", (), (("billing", "owns", ""),))},
    ]
    graph = {"entities": lines[:2], "relations": lines[2:]}
    for data, name in (
        ("\n".join(json.dumps(line) for line in lines).encode(), "memory.jsonl"),
        ("\n".join(json.dumps(line) for line in lines).encode(), "memory.json"),
        (json.dumps(graph).encode(), "graph.json"),
    ):
        _, rows, problems = read_rows(data, name)
        assert ([found.fields for found in rows], problems) == (expected, ())


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_deep_nesting_is_a_problem_and_not_a_crash(name: str) -> None:
    deep = b"[" * 200_000
    _, rows, problems = read_rows(b'{"content": "x"}\n' + deep + b'\n{"content": "y"}', name)
    assert [found.fields["content"] for found in rows] == ["x", "y"]
    assert [problem["where"] for problem in problems] == [f"{name}:2"]
    _, rows, problems = read_rows(b'{"content": "x", "more": ' + b'{"a":' * 100_000, name)
    assert not rows
    assert "deep" in problems[0]["message"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n\n",
        b"not json",
        b'{"content": ',
        b'{"a": ' + b"9" * 5000 + b"}",
        b"\x00\x01",
        b"{}",
        b"7",
        b"null",
    ],
)
def test_a_file_without_rows_is_one_problem(data: bytes) -> None:
    _, rows, problems = read_rows(data, "a.json")
    assert (rows, len(problems)) == ((), 1)


def test_a_file_that_is_too_large_is_refused() -> None:
    _, rows, problems = read_rows(b" " * (MAX_BYTES + 1), "big.json")
    assert not rows
    assert "64" in problems[0]["message"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_of_json_are_read(encoding: str) -> None:
    _, rows, problems = read_rows('{"content": "café ☕"}'.encode(encoding), "a.json")
    assert ([found.fields for found in rows], problems) == ([{"content": "café ☕"}], ())


def test_text_that_utf8_cannot_encode_is_replaced() -> None:
    assert row({"content": "a\ud800b\0c"}) == {"content": "a?b\ufffdc"}


def test_a_pretty_printed_array_is_read_whatever_the_file_name() -> None:
    _, rows, problems = read_rows(b'[\n  {"content": "x"}\n]\n', "a.jsonl")
    assert (len(rows), problems) == (1, ())


@given(st.binary(max_size=300), st.sampled_from(["a.json", "a.jsonl"]))
def test_no_bytes_make_reading_rows_fail(data: bytes, name: str) -> None:
    _, rows, problems = read_rows(data, name)
    assert rows or problems or data.strip() in (b"[]", b"{}")


KEYS = st.sampled_from(
    ["content", "text", "tags", "type", "metadata", "value", "created_at", "votes", "relations", "lore"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_no_json_makes_reading_rows_fail_and_fields_have_their_types(value: object) -> None:
    _, rows, _ = read_rows(json.dumps(value).encode(), "a.json")
    for found in rows:
        assert isinstance(found.fields["content"], str)
        assert all(isinstance(tag, str) and tag for tag in found.fields.get("tags", []))  # type: ignore[attr-defined]
        json.dumps(found.fields, allow_nan=False)
