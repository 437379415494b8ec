"""The smallest edit of a frontmatter to give it other values: only the lines of keys that differ change."""

from __future__ import annotations

from collections.abc import Callable

from engram.adapters.files.frontmatter import fields
from engram.adapters.files.frontmatter.fields import KEYS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import KeyEntry

_REMOVED = ""


class Form(NamedTuple):
    """The known keys of a kind of file, in canonical order, and the function that formats the lines of a key."""

    keys: Sequence[str]
    lines: Callable[[str, Any], list[str]]


def form(prefixed: Collection[str]) -> Form:
    """Return the form of an entry's file in which the fields `prefixed` are written with a prefix."""
    if not prefixed:
        return Form(KEYS, fields.lines)
    from engram.adapters.files.frontmatter import own_properties

    return Form(KEYS, lambda key, value: own_properties.lines(prefixed, key, value))


class _Piece(NamedTuple):
    """A key with all its lines, or one line between keys (key None): a comment or a blank line."""

    key: str | None
    text: str
    changed: bool = False


class Values(NamedTuple):
    """The values that decide what happens to each key, in file form.

    `current`: in the file; `wanted`: in the edited file; `implied`: what a missing key means; `left_out`: what the
    codec does not write.
    """

    current: dict[str, Any]
    wanted: dict[str, Any]
    implied: dict[str, Any]
    left_out: dict[str, Any]


def edit(block: str, entries: list[KeyEntry], values: Values, newline: str, form: Form) -> str:
    """Return the frontmatter with the wanted values; new lines end in `newline`."""
    pieces = _split(block, entries)
    comments = {entry.key: entry.comment for entry in entries}
    margin = _find_margin(block, entries)
    rank = {key: place for place, key in enumerate(form.keys)}
    for key in form.keys:
        wanted = values.wanted[key]
        if key in values.current:
            if values.current[key] == wanted:
                continue
            at = next(index for index, piece in enumerate(pieces) if piece.key == key)
            if wanted == values.left_out[key]:
                pieces[at] = _Piece(None, _REMOVED, changed=True)
            else:
                text = _format(form.lines(key, wanted), comments[key], margin, newline)
                pieces[at] = _Piece(key, text, changed=True)
        elif wanted not in (values.implied[key], values.left_out[key]):
            text = _format(form.lines(key, wanted), "", margin, newline)
            pieces.insert(_find_place(pieces, rank, key), _Piece(key, text, changed=True))
    return _join_lines(pieces)


def _split(block: str, entries: list[KeyEntry]) -> list[_Piece]:
    lines = block.split("\n")
    ended = [line + "\n" for line in lines[:-1]]
    pieces: list[_Piece] = []
    at = 0
    for entry in entries:
        pieces += [_Piece(None, line) for line in ended[at : entry.start]]
        pieces.append(_Piece(entry.key, "".join(ended[entry.start : entry.end])))
        at = entry.end
    return pieces + [_Piece(None, line) for line in ended[at:]]


def _find_margin(block: str, entries: list[KeyEntry]) -> str:
    """Return the indentation of top-level keys: some people indent the whole mapping."""
    if not entries:
        return ""
    line = block.split("\n", entries[0].start + 1)[entries[0].start]
    return line[: len(line) - len(line.lstrip(" "))]


def _format(lines: list[str], comment: str, margin: str, newline: str) -> str:
    lines[0] += comment
    return "".join([margin + line + newline if line else newline for line in lines])


def _find_place(pieces: list[_Piece], ranks: dict[str, int], key: str) -> int:
    """Return the index for a new key: after the nearest key before it in canonical order, else before the next one."""
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
    """Join the pieces. Blank or comment lines after a change lose their indentation.

    Indented, they would become part of a literal block that now precedes them; so would empty lines that a
    removal has moved after a block with `+`, which are dropped.
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
