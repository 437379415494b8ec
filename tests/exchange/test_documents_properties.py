"""Splitting documents, for any text: nothing is lost, everything fits, every part can be named."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.lore import MAX_TITLE, title_of
from engram.domain.exchange.document_pieces import Piece, cut
from engram.domain.exchange.documents import split_document
from engram.domain.exchange.markdown_blocks import FENCE, scan

WORDS = st.text(alphabet="abc é#`~|<>!-=:.", min_size=1, max_size=60)
LINES = st.lists(WORDS, min_size=1, max_size=12).map("\n".join)
SAFE_LINE = st.text(alphabet="abcdef gh.:", min_size=1, max_size=70).map(lambda text: f"w{text}")
CODE = st.lists(
    st.one_of(SAFE_LINE, st.sampled_from(["", "# no heading", "    indented"])), min_size=1, max_size=40
)


def fenced(mark: str, info: str, code: list[str]) -> str:
    return "\n".join([f"{mark}{info}", *code, mark])


HEADINGS = st.builds(lambda level, text: f"{'#' * level} {text}", st.integers(1, 6), SAFE_LINE)
FENCES = st.builds(
    fenced, st.sampled_from(["```", "~~~", "`````"]), st.sampled_from(["", "py", "sh a=b"]), CODE
)
TABLES = st.integers(1, 40).map(lambda rows: "| a | b |\n|---|:-:|" + "\n| 1 | two |" * rows)
COMMENTS = st.lists(SAFE_LINE, max_size=20).map(lambda lines: "\n".join(["<!--", *lines, "-->"]))
PARAGRAPHS = st.lists(SAFE_LINE, min_size=1, max_size=15).map("\n".join)
SETEXT = SAFE_LINE.map(lambda text: f"{text}\n======")
BLOCKS = st.one_of(HEADINGS, HEADINGS, FENCES, TABLES, COMMENTS, PARAGRAPHS, SETEXT)
DOCUMENTS = st.lists(BLOCKS, max_size=25).map("\n\n".join)
ANY_DOCUMENT = st.one_of(st.text(max_size=2000), st.lists(LINES, max_size=20).map("\n\n".join), DOCUMENTS)
LIMITS = st.one_of(st.integers(40, 300), st.integers(300, 4000))


def told(text: str) -> str:
    return "".join(text.split())


def holds_in_order(whole: str, kept: str) -> bool:
    letters = iter(whole)
    return all(letter in letters for letter in kept)


@given(ANY_DOCUMENT, st.text(max_size=200), LIMITS)
def test_every_part_fits_and_all_that_was_said_is_in_the_parts_in_order(
    text: str, fallback: str, limit: int
) -> None:
    parts = split_document(text, fallback, limit)
    assert all(1 <= len(part.content) <= limit for part in parts)
    assert [part.index for part in parts] == list(range(len(parts)))
    assert holds_in_order("".join(part.content for part in parts), told(text.removeprefix("\ufeff")))
    assert bool(parts) == bool(told(text.removeprefix("\ufeff")))


@given(ANY_DOCUMENT, st.text(max_size=200), LIMITS)
def test_every_part_of_a_split_document_has_a_heading_and_a_title_of_its_own(
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


def check_pieces(text: str, pieces: list[Piece], room: int) -> None:
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text
    for piece in pieces:
        body = piece.body(text)
        slice_ = text[piece.start : piece.end]
        assert len(body) <= room
        assert slice_.strip() in body
        added = len(piece.opener) + len(piece.closer) + 2
        assert len(body) <= len(slice_) + added


@given(ANY_DOCUMENT, st.integers(20, 1000))
def test_pieces_tile_the_text_exactly_and_hold_it_verbatim(text: str, room: int) -> None:
    text = text.strip()
    if text:
        check_pieces(text, cut(text, scan(text), room), room)


@given(ANY_DOCUMENT)
def test_blocks_hold_all_but_blank_space(text: str) -> None:
    blocks = scan(text)
    assert "".join(told(text[block.start : block.end]) for block in blocks) == told(text)
    ends = [0, *(block.end for block in blocks)]
    assert all(block.start >= end for block, end in zip(blocks, ends, strict=False))


@given(DOCUMENTS, st.integers(300, 2000))
def test_every_fence_of_every_part_is_closed(text: str, limit: int) -> None:
    for part in split_document(text, "Doc", limit):
        for block in scan(part.content):
            if block.kind == FENCE:
                lines = part.content[block.start : block.end].split("\n")
                assert len(lines) > 1
                assert lines[-1].startswith(block.closer)


@given(DOCUMENTS, LIMITS)
def test_no_line_of_code_becomes_a_title(text: str, limit: int) -> None:
    assert all("no heading" not in part.title for part in split_document(text, "Doc", max(limit, 300)))
