"""A merge patch as an edit: named fields change, null removes, and an error names the field."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.domain.errors import UsageError, ValidationError
from engram.usecases.recording.edit import Edit
from engram.usecases.recording.patch import parse_patch


def test_each_field_is_accepted_in_its_json_forms() -> None:
    relations = [{"kind": "refines", "id": "01A"}, ["see_also", "01B"]]
    changes = {"content": "Text", "confidence": 1, "pinned": False, "tags": "one", "files": ["a", "b"],
               "relations": relations, "expires_at": "2027-01-31T10:00:00Z"}  # fmt: skip
    assert parse_patch(changes) == Edit(
        content="Text", confidence=1.0, pinned=False, tags=("one",), files=("a", "b"),
        relations=(("refines", "01A"), ("see_also", "01B")), expires_at=datetime(2027, 1, 31, 10, tzinfo=UTC),
    )  # fmt: skip


def test_null_empties_lists_unsets_optional_fields_and_is_refused_for_required_ones() -> None:
    found = parse_patch({"tags": None, "expires_at": None})
    assert found == Edit(tags=(), unset=("expires_at",))
    for needed in ("content", "category", "confidence"):
        with pytest.raises(ValidationError, match=f"needs a value for {needed}"):
            parse_patch({needed: None})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", 1),
        ("confidence", True),
        ("confidence", "0.5"),
        ("pinned", 1),
        ("tags", ["a", 1]),
        ("tags", {"a": "b"}),
        ("relations", [{"kind": "refines"}]),
        ("relations", "refines 01A"),
        ("relations", [["a", "b", "c"]]),
        ("expires_at", "tomorrow"),
        ("expires_at", 1),
    ],
)
def test_a_value_of_another_kind_is_refused_with_its_field(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=f"'{field}'") as caught:
        parse_patch({"content": "Text", field: value})
    assert caught.value.field == field


def test_an_unknown_field_and_an_empty_patch_are_refused() -> None:
    with pytest.raises(ValidationError, match="no field 'id' to change"):
        parse_patch({"id": "01A"})
    with pytest.raises(UsageError, match="No change was given"):
        parse_patch({})
