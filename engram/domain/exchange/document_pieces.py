"""Cut a long markdown document: at headings first, then between blocks, lines, and characters.

Pieces tile the document, so nothing is lost. A fence, comment or table cut in two carries the lines that
close its first half and reopen its second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engram.domain.exchange.markdown_blocks import FENCE, HEADING, TABLE, TEXT, Block
from engram.domain.typed import NamedTuple

_WRAP_DIVISOR = 4  # lines that reopen a block may take at most a fourth of the room
_HEAD_LINES = {FENCE: 1, TABLE: 2}


class Piece(NamedTuple):
    """`text[start:end]`, which begins in block number `first`; `opener` and `closer` are lines to add around it."""

    start: int
    end: int
    first: int
    opener: str = ""
    closer: str = ""

    def body(self, text: str) -> str:
        """Return the piece as self-contained markdown, without blank lines around it."""
        own = text[self.start : self.end]
        own = f"{self.opener}\n{own}" if self.opener else strip_leading_blank_lines(own)
        if not self.closer:
            return own.rstrip()
        return f"{own}{'' if own.endswith(chr(10)) else chr(10)}{self.closer}"


def strip_leading_blank_lines(text: str) -> str:
    """Return `text` from its first line that is not blank, with the indentation of that line."""
    indented = len(text) - len(text.lstrip())
    return text[text.rfind("\n", 0, indented) + 1 :]


def cut(text: str, blocks: Sequence[Block], room: int) -> list[Piece]:
    """Return pieces of at most `room` characters each (counting the lines added around them); they tile `text`."""
    found = list(_Cutter(text, blocks, room).divide(0, len(blocks)))
    following = [piece.start for piece in found[1:]] + [len(text)]
    return [piece._replace(end=end) for piece, end in zip(found, following, strict=True)]


class _Cutter:
    """Yields pieces that may end before the blank space in front of the next piece."""

    def __init__(self, text: str, blocks: Sequence[Block], room: int) -> None:
        self.text, self.blocks, self.room = text, blocks, room

    def divide(self, low: int, high: int) -> Iterator[Piece]:
        """Yield pieces of the blocks low..high-1: short sections packed together, long ones divided further."""
        sections = self.sections(low, high)
        if len(sections) == 1:
            fits = self.length(low, high) <= self.room
            yield from [self.whole(low, high)] if fits else self.fill(low, high)
            return
        packed: tuple[int, int] | None = None
        for begin, end in sections:
            if packed and self.length(packed[0], end) <= self.room:
                packed = (packed[0], end)
                continue
            if packed:
                yield self.whole(*packed)
            packed = (begin, end)
            if self.length(begin, end) > self.room:
                yield from self.divide(begin, end)
                packed = None
        if packed:
            yield self.whole(*packed)

    def sections(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the ranges of blocks that begin at the highest headings inside low..high-1.

        Headings at the start of the range stay with the blocks after them, so no piece is a bare heading.
        """
        inner = low
        while inner < high and self.blocks[inner].kind == HEADING:
            inner += 1
        levels = [block.level for block in self.blocks[inner:high] if block.level]
        top = min(levels, default=0)
        starts = [low, *(k for k in range(inner, high) if top and self.begins(k, top))]
        return list(zip(starts, [*starts[1:], high], strict=True)) if low < high else []

    def begins(self, k: int, level: int) -> bool:
        """Return whether a section of that level begins at block `k`, and not right after another heading of it."""
        return self.blocks[k].level == level and self.blocks[k - 1].level != level

    def length(self, low: int, high: int) -> int:
        return self.blocks[high - 1].end - self.blocks[low].start

    def whole(self, low: int, high: int) -> Piece:
        return Piece(self.blocks[low].start, self.blocks[high - 1].end, low)

    def fill(self, low: int, high: int) -> Iterator[Piece]:
        """Yield pieces of blocks without headings to divide at: whole blocks as long as they fit."""
        piece = Piece(self.blocks[low].start, self.blocks[low].start, low)
        for k in range(low, high):
            block = self.blocks[k]
            if not self.fits(piece, block.end):
                begin = self.lead(k, piece)
                if self.should_move(piece, begin, block):
                    yield piece._replace(end=self.blocks[begin - 1].end)
                    piece = Piece(self.blocks[begin].start, block.start, begin)
                while not self.fits(piece, block.end):
                    part, piece = self.cut_block(piece, k)
                    yield part
            piece = piece._replace(end=block.end)
        yield piece

    def fits(self, piece: Piece, end: int) -> bool:
        return end - piece.start + (len(piece.opener) + 1 if piece.opener else 0) <= self.room

    def lead(self, k: int, piece: Piece) -> int:
        """Return the first block to move along with block `k`: headings and "like this:" lines introduce it."""
        begin = k
        while begin - 1 > piece.first and self.leads(self.blocks[begin - 1]):
            begin -= 1
        return begin

    def leads(self, block: Block) -> bool:
        if block.kind == HEADING:
            return True
        return (
            block.kind == TEXT
            and block.end - block.start < self.room // 4
            and self.text[block.end - 1] == ":"
        )

    def should_move(self, piece: Piece, begin: int, block: Block) -> bool:
        """Return whether the whole block moves to a new piece, rather than being cut to fill this one."""
        start = self.blocks[begin].start
        if begin == piece.first or all(self.blocks[k].kind == HEADING for k in range(piece.first, begin)):
            return False
        return block.end - start <= self.room or start - piece.start > self.room // 2

    def cut_block(self, piece: Piece, k: int) -> tuple[Piece, Piece]:
        """Return the piece filled with the beginning of block `k`, and the piece that continues with its rest."""
        block = self.blocks[k]
        opener, closer = block.opener, block.closer
        if len(opener) + len(closer) + 2 > self.room // _WRAP_DIVISOR:
            opener = closer = ""
        start = max(piece.start, block.start)
        most = piece.start + self.room - len(closer) - 1 - (len(piece.opener) + 1 if piece.opener else 0)
        if piece.start < start and most - start < self.room // 4 + len(opener):
            return piece._replace(end=start), Piece(start, start, k)
        point = self.cut_point(start, most, block)
        return piece._replace(end=point, closer=closer), Piece(point, point, k, opener)

    def cut_point(self, start: int, most: int, block: Block) -> int:
        """Return the best offset in start+1..most to cut at: after a line, else after a word, else anywhere."""
        low, high = self.inside(start, most, block)
        half = (low + high) // 2
        for separator, begin in (("\n\n", half), ("\n", low), (". ", half), (" ", half)):
            point = self.text.rfind(separator, begin, high) + len(separator)
            if max(low, begin) < point <= high:
                return point
        return max(high, start + 1)

    def inside(self, start: int, most: int, block: Block) -> tuple[int, int]:
        """Return the range to cut in: not within the head of a block, not right before the end of a fence."""
        low, high = start, min(most, block.end)
        if start == block.start:
            for _ in range(_HEAD_LINES.get(block.kind, 0)):
                low = self.text.find("\n", low, high) + 1 or low
        closing = self.text.rfind("\n", low, block.end)
        if block.kind == FENCE and closing > low:
            high = min(high, max(self.text.rfind("\n", low, closing) + 1, low + 1))
        return low, max(high, low + 1)
