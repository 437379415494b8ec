"""The frame of an entry's file, everything around its values: unknown keys, comments, order, fences, line ends.

The domain merges the values. Here the texts of the keys are combined, so that the codec's edit has to replace
only lines that neither side has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from engram.adapters.files.frontmatter import keys
from engram.adapters.files.frontmatter.fields import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engram.adapters.files.frontmatter.frontmatter import Document, Value

_RANK = {key: rank for rank, key in enumerate(KEYS)}
_END = "\0"  # no key holds a NUL


class _Part(NamedTuple):
    """A key's lines, the lines above it that belong to no key, the comment at its end, and its value."""

    lead: str = ""
    text: str | None = None
    comment: str = ""
    value: Value | None = None


_NOTHING = _Part()


class Outline(NamedTuple):
    """A file in parts. The part with the key NUL has the lines after the last key."""

    document: Document
    parts: dict[str, _Part]
    ranks: Mapping[str, int] = _RANK  # of the known keys, in canonical order

    @property
    def keys(self) -> list[str]:
        """The keys in the order of the file."""
        return [key for key in self.parts if key != _END]

    @property
    def foreign(self) -> dict[str, Value]:
        """The values of unknown keys."""
        return {
            key: part.value
            for key, part in self.parts.items()
            if key != _END and key not in self.ranks and part.value is not None
        }

    @property
    def frame(self) -> Frame:
        """The file itself as the frame of other values."""
        return Frame("".join(self.document), self.foreign, (), ())

    @property
    def comments(self) -> list[str]:
        """The comments that people wrote next to and between the keys."""
        found = [text.strip() for part in self.parts.values() for text in (*_lines(part.lead), part.comment)]
        return sorted([text for text in found if text])

    def surrounds_the_same(self, other: Outline) -> bool:
        """Return whether unknown keys and comments are the same."""
        return self.foreign == other.foreign and self.comments == other.comments


class Frame(NamedTuple):
    """The text of a merged frame; `lost` are the values of unknown keys that lost.

    `foreign` are the values of unknown keys in the text, `differing` the keys in which the sides differed.
    """

    text: str
    foreign: dict[str, Value]
    lost: tuple[tuple[str, str], ...]
    differing: tuple[str, ...]


def outline(text: str, ranks: Mapping[str, int] = _RANK) -> Outline:
    """Split a file into its parts; `ranks` has the known keys, by default those of an entry. Raises Problem."""
    document, entries = keys.load(text)
    lines = _lines(document.block)
    parts: dict[str, _Part] = {}
    at = 0
    for entry in entries:
        lead, own = "".join(lines[at : entry.start]), "".join(lines[entry.start : entry.end])
        parts[entry.key] = _Part(lead, own, entry.comment, entry.value)
        at = entry.end
    parts[_END] = _Part("".join(lines[at:]))
    return Outline(document, parts, ranks)


def combine(base: Outline | None, winner: Outline, loser: Outline) -> Frame:
    """Return the frame of the merged file; if both sides changed the same part, the winner's is taken."""
    before = base or Outline(winner.document._replace(block="", body=""), {})
    lost: list[tuple[str, str]] = []
    parts: dict[str, _Part] = {}
    for key in dict.fromkeys([*winner.parts, *loser.parts]):
        sides = [side.parts.get(key, _NOTHING) for side in (before, winner, loser)]
        part = _merge_part(sides, key in winner.ranks or key == _END)
        if part is None:
            part = sides[1]
            lost.append((key, _format_lost(sides[2])))
        parts[key] = part
    order = [
        key
        for key in _merge_order(before.keys, winner.keys, loser.keys, winner.ranks)
        if parts[key].text is not None
    ]
    block = "".join([parts[key].lead + (parts[key].text or "") for key in [*order, _END] if key in parts])
    foreign = winner._replace(parts=parts).foreign
    return Frame(_join_document(base, winner, loser, block), foreign, tuple(lost), _differing(winner, loser))


def frames(base: Outline | None, winner: Outline, loser: Outline) -> Iterator[tuple[Frame, bool]]:
    """Yield the frames into which the merged values may be written, best first, each with whether to save space.

    The second is for sides whose keys cannot be combined (one is indented), the third for files that would be too large.
    """
    newlines = [side.document.newline if side else "" for side in (base, winner, loser)]
    if len({*newlines} - {""}) == 1:
        yield combine(base, winner, loser), False
    else:
        ending = newlines[2] if newlines[1] == newlines[0] else newlines[1]
        plain = map(_with_line_feeds, (winner, loser))
        frame = combine(_with_line_feeds(base) if base else None, *plain)
        yield frame._replace(text=frame.text.replace("\n", ending)), False
    frame = keep_winner(base, winner, loser)
    yield frame, False
    yield frame, True


def _with_line_feeds(side: Outline) -> Outline:
    return outline("".join(side.document).replace("\r\n", "\n"), side.ranks)


def keep_winner(base: Outline | None, winner: Outline, loser: Outline) -> Frame:
    """Return the winner's file as the frame; values of unknown keys that the loser changed are lost."""
    old, one, other = (side.foreign if side else {} for side in (base, winner, loser))
    lost = [
        (key, _format_lost(loser.parts[key]))
        for key, value in other.items()
        if value not in (one.get(key), old.get(key))
    ]
    return Frame("".join(winner.document), one, tuple(lost), _differing(winner, loser))


def _differing(winner: Outline, loser: Outline) -> tuple[str, ...]:
    one, other = winner.foreign, loser.foreign
    return tuple(sorted([key for key in one.keys() | other.keys() if one.get(key) != other.get(key)]))


def _merge_part(sides: Sequence[_Part], known: bool) -> _Part | None:
    """Return the part for the frame; None if both sides changed the value of an unknown key."""
    old, one, other = sides
    if known or one.value == other.value:
        chosen = _pick(old, one, other, [part.text for part in sides])
    elif one.value == old.value:
        chosen = other
    elif other.value == old.value:
        chosen = one
    else:
        return None
    comment = _pick(old.comment, one.comment, other.comment)
    return _Part(_merge_leads(sides), _with_comment(chosen, comment), comment, chosen.value)


def _pick(old: Any, one: Any, other: Any, by: Sequence[Any] = ()) -> Any:
    """Choose three-way: the side that changed, or the first (the winner) if both did. `by` are the values to compare, if others."""
    before, first, _ = by or (old, one, other)
    return other if first == before else one


def _merge_leads(sides: Sequence[_Part]) -> str:
    """Return the lines above a key; if both sides changed them, those of both."""
    old, one, other = (part.lead for part in sides)
    if old in (one, other) or one == other:
        return str(_pick(old, one, other))
    present = {line.strip() for line in _lines(one) + _lines(old)} | {""}
    return one + "".join([line for line in _lines(other) if line.strip() not in present])


def _with_comment(part: _Part, comment: str) -> str | None:
    """Return the text of a key, with this comment at its end if it has one line."""
    if part.text is None or part.comment == comment or part.text.count("\n") != 1:
        return part.text
    line = part.text.rstrip("\r\n")
    end = part.text[len(line) :]
    return line.removesuffix(part.comment) + comment + end if line.endswith(part.comment) else part.text


def _format_lost(part: _Part) -> str:
    """Format a losing value for display: a text unchanged, anything else as written in the file."""
    if isinstance(part.value, str):
        return part.value
    return (part.text or "").replace("\r\n", "\n").rstrip("\n")


def _merge_order(
    base: Sequence[str], winner: Sequence[str], loser: Sequence[str], ranks: Mapping[str, int]
) -> list[str]:
    """Return the keys of both sides. New keys stay after the key that they follow; if both sides have some there, sort them."""
    shared = set(winner) & set(loser)
    old, first, second = ([key for key in keys if key in shared] for keys in (base, winner, loser))
    spine = _pick(old, first, second)
    one, other = _unshared_keys(winner, shared), _unshared_keys(loser, shared)
    found: list[str] = []
    for anchor in (_END, *spine):
        new, also = one.get(anchor, []), other.get(anchor, [])
        found += [anchor] if anchor != _END else []
        found += (
            sorted([*new, *also], key=lambda key: (ranks.get(key, len(ranks)), key))
            if new and also
            else [*new, *also]
        )
    return found


def _unshared_keys(keys: Iterable[str], shared: set[str]) -> dict[str, list[str]]:
    """Return the keys that are not shared, by the shared key before them."""
    gaps: dict[str, list[str]] = {}
    anchor = _END
    for key in keys:
        if key in shared:
            anchor = key
        else:
            gaps.setdefault(anchor, []).append(key)
    return gaps


def _join_document(base: Outline | None, winner: Outline, loser: Outline, block: str) -> str:
    one, other = winner.document, loser.document
    old = base.document if base else None
    bom = _pick(old and old.bom, one.bom, other.bom)
    shell = _pick(old and _shell(old), _shell(one), _shell(other))
    body = _pick(old and old.body, one.body, other.body)
    if block and not shell[0]:
        shell = _shell(one) if one.opening else _shell(other)
    return f"{bom}{shell[0]}{block}{shell[1]}{body}"


def _shell(document: Document) -> tuple[str, str]:
    return document.opening, document.closing


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends one."""
    return [line + "\n" for line in text.split("\n")[:-1]]
