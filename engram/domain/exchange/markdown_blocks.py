"""Scan markdown for the blocks that matter to a splitter: headings, code fences, comments, tables, text.

A line scanner, not a renderer: it follows CommonMark 0.31 for the start and end of a block and ignores the inside of a
paragraph. Between two blocks there is only blank space.
"""

from __future__ import annotations

import re
from itertools import islice

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADING, FENCE, RAW, TABLE, TEXT = "heading", "fence", "raw", "table", "text"

_FENCE = re.compile(
    r"(?P<prefix>(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$"
)
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(?=\S)")
_UNDERLINE = re.compile(r" {0,3}(={2,}|-{2,})[ \t]*$")
_DELIMITER = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_NOT_A_PARAGRAPH = re.compile(r"    |\t|[ ]{0,3}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]|<|\||[-*_=]{3,}[ \t]*$)")
_RAW = re.compile(r" {0,3}<(!--|pre\b|script\b|style\b|textarea\b)", re.IGNORECASE)
_CODE_INDENT = 4


class Block(NamedTuple):
    """One block: `text[start:end]`, whole lines without the blank lines and the newline after it.

    `level` (1..6) and `title` are set for headings. `opener` and `closer` are the lines that complete the halves of
    a block cut in two: the fence with its info string, the comment marks, the head of a table.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    title: str = ""
    opener: str = ""
    closer: str = ""


class _Found(NamedTuple):
    kind: str
    lines: int
    level: int = 0
    title: str = ""
    opener: str = ""
    closer: str = ""


def scan(text: str, most: int | None = None) -> tuple[Block, ...]:
    """Return the blocks of `text` (the first `most`), in order; only `\\n` ends a line. Linear in the length of the text."""
    return tuple(islice(_Scanner(text).blocks(), most))


class _Scanner:
    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.unclosed: dict[str, int] = {}

    def blocks(self) -> Iterator[Block]:
        at = offset = 0
        while at < len(self.lines):
            if not self.lines[at].strip():
                offset += len(self.lines[at]) + 1
                at += 1
                continue
            block = self.special(at) or _Found(TEXT, self.text_lines(at))
            length = sum(len(line) + 1 for line in self.lines[at : at + block.lines])
            yield Block(block.kind, offset, offset + length - 1, *block[2:])
            offset += length
            at += block.lines

    def text_lines(self, at: int) -> int:
        """Count the lines of the paragraph (or list, or quote) at a line."""
        end = at + 1
        while end < len(self.lines) and self.lines[end].strip() and not self.special(end, inside=True):
            end += 1
        return end - at

    def special(self, at: int, *, inside: bool = False) -> _Found | None:
        """Return the block other than text that starts at a line; inside a paragraph, an underline makes no heading."""
        line = self.lines[at]
        if "`" in line or "~" in line:
            fence = self.fence(at)
            if fence:
                return fence
        return self.raw(at) or self.table(at) or _atx(line) or (None if inside else self.setext(at))

    def fence(self, at: int) -> _Found | None:
        match = _FENCE.match(self.lines[at])
        if not match:
            return None
        prefix, mark, info = match["prefix"], match["mark"], match["info"]
        end = self.fence_end(at, mark, quoted=">" in prefix)
        listed = prefix.strip(" \t>") or len(prefix.expandtabs(4)) >= _CODE_INDENT
        if end is None and listed and ">" not in prefix:
            return None  # indented by four, or in a list item: only a closed one is certainly a fence
        margin = "".join(letter if letter in " \t>" else " " for letter in prefix)
        lines = (end or len(self.lines)) - at
        return _Found(FENCE, lines, opener=f"{margin}{mark}{info}".rstrip(), closer=margin + mark)

    def fence_end(self, at: int, mark: str, *, quoted: bool) -> int | None:
        """Return the number of the line after the end of a fence; None if it is never closed."""
        letter, length = mark[0], len(mark)
        if not quoted and length >= self.unclosed.get(letter, length + 1):
            return None
        for k in range(at + 1, len(self.lines)):
            line = self.lines[k]
            if quoted and not line.lstrip().startswith(">"):
                return k
            bare = line.strip(" \t>") if letter in line else ""
            if len(bare) >= length and not bare.strip(letter):
                return k + 1
        if not quoted:
            self.unclosed[letter] = length
        return None

    def raw(self, at: int) -> _Found | None:
        """Return a comment, or an element whose content is not markdown; if never closed, it is plain text."""
        match = _RAW.match(self.lines[at]) if "<" in self.lines[at] else None
        if not match:
            return None
        name = match[1].lower()
        end = "-->" if name == "!--" else f"</{name}>"
        if end in self.unclosed:
            return None
        for k in range(at, len(self.lines)):
            begin = match.end() if k == at else 0
            if end in self.lines[k][begin:].lower():
                comment = name == "!--"
                return _Found(
                    RAW, k + 1 - at, opener="<!--" if comment else "", closer="-->" if comment else ""
                )
        self.unclosed[end] = at
        return None

    def table(self, at: int) -> _Found | None:
        following = self.lines[at + 1] if at + 1 < len(self.lines) else ""
        if "|" not in self.lines[at] or "|" not in following or not _DELIMITER.match(following):
            return None
        end = at + 2
        while end < len(self.lines) and "|" in self.lines[end] and self.lines[end].strip():
            end += 1
        return _Found(TABLE, end - at, opener=f"{self.lines[at]}\n{following}")

    def setext(self, at: int) -> _Found | None:
        """Return the heading of a single line of text underlined with = or -."""
        underline = _UNDERLINE.match(self.lines[at + 1]) if at + 1 < len(self.lines) else None
        if not underline or _NOT_A_PARAGRAPH.match(self.lines[at]):
            return None
        return _Found(HEADING, 2, 1 if underline[1][0] == "=" else 2, self.lines[at].strip())


def _atx(line: str) -> _Found | None:
    match = _ATX.match(line) if "#" in line else None
    if not match:
        return None
    title = line[match.end() :].strip()
    bare = title.rstrip("#")
    if bare != title and (not bare or bare[-1] in " \t"):
        title = bare.strip()
    return _Found(HEADING, 1, len(match[1]), title) if title else None
