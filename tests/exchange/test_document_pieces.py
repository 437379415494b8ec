"""Pieces of a long text tile it exactly and contain it verbatim."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.exchange.document_pieces import Piece, cut
from engram.domain.exchange.markdown_blocks import scan
from tests.exchange.document_texts import ANY_DOCUMENT


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
