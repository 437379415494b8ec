"""Notes of other tools are read whatever they contain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.files.foreign.tool_notes import (
    hashtags,
    names_linked,
    observed_categories,
    read_note,
    without_index,
)


def test_frontmatter_that_is_not_yaml_is_read_leniently() -> None:
    note = read_note("---\nglobs: **/*.ts\ntags:\n  - a\n  - 'b'\ntitle: \"T: x\"\n---\nText")
    assert note.head == {"globs": "**/*.ts", "tags": "a, b", "title": "T: x"}
    assert (note.text, note.tags) == ("Text", ["a", "b"])


@given(text=st.text(alphabet="-#[]()*:\n ab\"'x", max_size=200))
def test_any_note_is_read_without_an_error(text: str) -> None:
    note = read_note(text)
    assert note.text.strip() == note.text
    assert all(isinstance(value, str) for value in note.head.values())
    without_index(note.text), names_linked(note.text), hashtags(note.text), observed_categories(note.text)
