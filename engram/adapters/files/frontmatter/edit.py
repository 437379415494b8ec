"""The smallest edit of a frontmatter that makes it say other values: only the lines of keys that differ."""

from __future__ import annotations

from collections.abc import Callable

from engram.adapters.files.frontmatter import fields
from engram.adapters.files.frontmatter.fields import KEYS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import Entry

_REMOVED = ""


class Form(NamedTuple):
    """The known keys of a kind of file, in the order in which they are written, and what writes the lines of one."""

    keys: Sequence[str]
    lines: Callable[[str, Any], list[str]]


def form(apart: Collection[str]) -> Form:
    """Return the form of an entry's file in which the fields `apart` are written with a prefix."""
    if not apart:
        return Form(KEYS, fields.lines)
    from engram.adapters.files.frontmatter import own_properties

    return Form(KEYS, lambda key, value: own_properties.lines(apart, key, value))


class _Piece(NamedTuple):
    """A key with all its lines, or (key None) one line between keys: a comment, a blank line."""

    key: str | None
    text: str
    changed: bool = False


class Values(NamedTuple):
    """What decides about each key, in file form.

    `said`: what the file says; `wanted`: what it has to say; `implied`: what a reader takes where a key is
    absent; `left_out`: what the codec does not write.
    """

    said: dict[str, Any]
    wanted: dict[str, Any]
    implied: dict[str, Any]
    left_out: dict[str, Any]


def edit(block: str, entries: list[Entry], values: Values, newline: str, form: Form) -> str:
    """Return the frontmatter with the wanted values; new lines end in `newline`."""
    pieces = _pieces(block, entries)
    comments = {entry.key: entry.comment for entry in entries}
    margin = _margin(block, entries)
    rank = {key: place for place, key in enumerate(form.keys)}
    for key in form.keys:
        wanted = values.wanted[key]
        if key in values.said:
            if values.said[key] == wanted:
                continue
            at = next(index for index, piece in enumerate(pieces) if piece.key == key)
            if wanted == values.left_out[key]:
                pieces[at] = _Piece(None, _REMOVED, changed=True)
            else:
                text = _text(form.lines(key, wanted), comments[key], margin, newline)
                pieces[at] = _Piece(key, text, changed=True)
        elif wanted not in (values.implied[key], values.left_out[key]):
            text = _text(form.lines(key, wanted), "", margin, newline)
            pieces.insert(_place(pieces, rank, key), _Piece(key, text, changed=True))
    return _join_lines(pieces)


def _pieces(block: str, entries: list[Entry]) -> list[_Piece]:
    lines = block.split("\n")
    ended = [line + "\n" for line in lines[:-1]]
    pieces: list[_Piece] = []
    at = 0
    for entry in entries:
        pieces += [_Piece(None, line) for line in ended[at : entry.start]]
        pieces.append(_Piece(entry.key, "".join(ended[entry.start : entry.end])))
        at = entry.end
    return pieces + [_Piece(None, line) for line in ended[at:]]


def _margin(block: str, entries: list[Entry]) -> str:
    """Return the blanks before each top-level key: some people indent the whole mapping."""
    if not entries:
        return ""
    line = block.split("\n", entries[0].start + 1)[entries[0].start]
    return line[: len(line) - len(line.lstrip(" "))]


def _text(lines: list[str], comment: str, margin: str, newline: str) -> str:
    lines[0] += comment
    return "".join([margin + line + newline if line else newline for line in lines])


def _place(pieces: list[_Piece], ranks: dict[str, int], key: str) -> int:
    """Return where a new key goes: after the nearest key before it in canonical order, else before the next one."""
    rank = ranks[key]
    known = [(ranks[piece.key], index) for index, piece in enumerate(pieces) if piece.key in ranks]
    before = [found for found in known if found[0] < rank]
    if before:
        return max(before)[1] + 1
    if not known:
        return len(pieces)
    at = min(known)[1]
    while at and pieces[at - 1].key is None and pieces[at - 1].text.lstrip().startswith("#"):
        at -= 1
    return at


def _join_lines(pieces: list[_Piece]) -> str:
    """Return the text again. Blank or comment lines after a change lose their indentation.

    Indented, they would become part of a literal block that now stands before them; so would empty lines
    after a block with `+` that a removal has brought together.
    """
    texts: list[str] = []
    after_change = False
    previous = ""
    for piece in pieces:
        text = piece.text
        if piece.changed or piece.key is not None:
            after_change = piece.changed
        elif after_change:
            text = text.lstrip(" \t")
            if not text.strip() and _keeps_blank_lines(previous):
                continue
        if piece.key is not None:
            previous = text
        texts.append(text)
    return "".join(texts)


def _keeps_blank_lines(text: str) -> bool:
    return "|+" in text or ">+" in text or "+\n" in text
