"""The origin of a promoted entry can be written to any file and read back; nothing else changes."""

from __future__ import annotations

from apikit import SetClock
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.files.frontmatter import canonical, codec, keys, origin
from engram.adapters.files.frontmatter.origin import Origin
from engram.domain.entry.categories import Categories

ORIGINS = st.builds(Origin, *[st.text(max_size=60)] * 5)
PLAIN = b"---\nid: 01KJPY44E039MMV97SZGY6V9EQ\ncategory: FACT\ncreated_at: 2026-03-02T09:30:00Z\n---\n\norigin: of it all\n"


@given(ORIGINS, ORIGINS, st.sampled_from([PLAIN, PLAIN.replace(b"\n", b"\r\n")]))
def test_an_origin_in_any_file_is_read_back_and_changes_nothing_else(
    one: Origin, other: Origin, raw: bytes
) -> None:
    at = SetClock().now()
    written = origin.with_origin(raw, one)
    assert codec.read(written, "x", Categories(), at).lore == codec.read(raw, "x", Categories(), at).lore
    assert origin.without_origin(written) == raw
    again = origin.with_origin(written, other)
    assert origin.with_origin(raw, other) == again
    quoted = Origin(*[origin._quotable(value) for value in one])
    assert origin.origin_of(written) == (quoted if quoted.id else None)


@given(ORIGINS)
def test_a_file_with_an_origin_is_read_by_the_fast_reader(one: Origin) -> None:
    text = origin.with_origin(PLAIN, one).decode()
    assert (
        codec.read_canonical(text, Categories())
        == codec.read(PLAIN, "x", Categories(), SetClock().now()).lore
    )
    twice = text.replace("origin: {", origin.line(one) + "\norigin: {", 1)
    assert codec.read_canonical(twice, Categories()) is None
    block, _ = keys.load(text)
    assert canonical.canonical_fields(block.block.rstrip("\n").split("\n"), Categories()) is not None
