"""Blocks of markdown, for any text: they contain everything but blank space, and no line of code becomes a title."""

from __future__ import annotations

from hypothesis import given

from engram.domain.exchange.documents import split_document
from engram.domain.exchange.markdown_blocks import scan
from tests.exchange.document_texts import ANY_DOCUMENT, DOCUMENTS, LIMITS, told


@given(ANY_DOCUMENT)
def test_blocks_contain_everything_but_blank_space(text: str) -> None:
    blocks = scan(text)
    assert "".join(told(text[block.start : block.end]) for block in blocks) == told(text)
    ends = [0, *(block.end for block in blocks)]
    assert all(block.start >= end for block, end in zip(blocks, ends, strict=False))


@given(DOCUMENTS, LIMITS)
def test_no_line_of_code_becomes_a_title(text: str, limit: int) -> None:
    assert all("no heading" not in part.title for part in split_document(text, "Doc", max(limit, 300)))
