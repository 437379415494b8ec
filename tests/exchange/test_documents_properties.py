"""Splitting documents, for any text: nothing is lost, everything fits, every part has a title."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.lore import MAX_TITLE, title_of
from engram.domain.exchange.documents import split_document
from engram.domain.exchange.markdown_blocks import FENCE, scan
from tests.exchange.document_texts import ANY_DOCUMENT, DOCUMENTS, LIMITS, told


def holds_in_order(whole: str, kept: str) -> bool:
    letters = iter(whole)
    return all(letter in letters for letter in kept)


@given(ANY_DOCUMENT, st.text(max_size=200), LIMITS)
def test_every_part_fits_and_the_parts_have_the_whole_text_in_order(
    text: str, fallback: str, limit: int
) -> None:
    parts = split_document(text, fallback, limit)
    assert all(1 <= len(part.content) <= limit for part in parts)
    assert [part.index for part in parts] == list(range(len(parts)))
    assert holds_in_order("".join(part.content for part in parts), told(text.removeprefix("\ufeff")))
    assert bool(parts) == bool(told(text.removeprefix("\ufeff")))


@given(ANY_DOCUMENT, st.text(max_size=200), LIMITS)
def test_every_part_of_a_split_document_has_a_heading_and_a_unique_title(
    text: str, fallback: str, limit: int
) -> None:
    parts = split_document(text, fallback, limit)
    if len(parts) > 1:
        assert len({part.title for part in parts}) == len(parts)
        for part in parts[1:]:
            assert part.content.split("\n", 1)[0] == f"# {part.title}"
    for part in parts:
        assert part.title == (title_of(part.content) or part.title)


@given(ANY_DOCUMENT, LIMITS)
def test_a_document_that_fits_with_its_title_is_one_part_that_ends_with_its_text(
    text: str, limit: int
) -> None:
    (part, *others) = split_document(text, "Fallback", limit) or split_document("x", "x")
    title = len("# \n\n") + MAX_TITLE
    stripped = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip()
    if stripped and len(text) + title <= limit:
        assert not others
        assert part.content.endswith(stripped)
        added = part.content.removesuffix(stripped)
        assert not added.strip() or re.fullmatch(r"# [^\n]+\n\n\s*", added)


@given(DOCUMENTS, st.integers(300, 2000))
def test_every_fence_of_every_part_is_closed(text: str, limit: int) -> None:
    for part in split_document(text, "Doc", limit):
        for block in scan(part.content):
            if block.kind == FENCE:
                lines = part.content[block.start : block.end].split("\n")
                assert len(lines) > 1
                assert lines[-1].startswith(block.closer)
