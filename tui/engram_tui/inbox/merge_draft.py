"""The choices of a merge: for each paragraph and field in which two versions differ, the left, the right or both."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.domain.text.word_diff import compare_parts
from engram.usecases.recording.edited_result import FIELDS

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore

LEFT, RIGHT, BOTH = "left", "right", "both"
_FENCE = re.compile(r"^```", re.MULTILINE)
_BREAK = re.compile(r"(\n[ \t]*\n\s*)")


class Part(NamedTuple):
    """A paragraph (`name` is "") or a field of both sides. If they are equal, there is nothing to choose."""

    name: str
    left: Any
    right: Any

    @property
    def differs(self) -> bool:
        """Whether there is something to choose."""
        return bool(self.left != self.right)

    @property
    def joins(self) -> bool:
        """Whether both sides can stay."""
        return not self.name or isinstance(self.left, tuple)


class MergeDraft:
    """The choices between two versions of an entry; everything else comes from `base`."""

    def __init__(self, left: Lore, right: Lore, base: Lore, *, join_fields: bool = False) -> None:
        """Choose the left side at first; with `join_fields`, both sides of fields that are lists."""
        self.base = base
        self.paragraphs = _align_paragraphs(left.content, right.content)
        fields = [
            Part(name, getattr(left, name), getattr(right, name)) for name in FIELDS if name != "content"
        ]
        choosable = [part for part in fields if part.differs and _is_choosable(part, base, join_fields)]
        self.rows: tuple[Part, ...] = (*(part for part in self.paragraphs if part.differs), *choosable)
        self.choices = [BOTH if part.name and part.joins and join_fields else LEFT for part in self.rows]
        self._rows_by_part = {id(part): row for row, part in enumerate(self.rows)}

    def choice_of(self, part: Part) -> str:
        """Return the choice for a part; "" if there is nothing to choose."""
        row = self._rows_by_part.get(id(part))
        return "" if row is None else self.choices[row]

    def choose(self, row: int, choice: str) -> bool:
        """Choose for a row; returns False if both cannot stay."""
        if choice == BOTH and not self.rows[row].joins:
            return False
        self.choices[row] = choice
        return True

    def text_of(self, part: Part) -> str:
        """Return the merged text of a paragraph."""
        choice = self.choice_of(part) or LEFT
        sides = {LEFT: (part.left,), RIGHT: (part.right,), BOTH: (part.left, part.right)}[choice]
        return "\n\n".join([text for text in sides if text])

    @property
    def text(self) -> str:
        """The merged text."""
        return "\n\n".join([text for part in self.paragraphs if (text := self.text_of(part))])

    def result(self, text: str) -> Lore:
        """Return the entry with this text and the chosen fields."""
        fields = {part.name: self._value(part) for part in self.rows if part.name}
        return self.base._replace(content=text.strip("\n"), **fields)

    def _value(self, part: Part) -> Any:
        choice = self.choice_of(part)
        if choice == BOTH:
            return tuple(dict.fromkeys([*part.left, *part.right, *getattr(self.base, part.name)]))
        return part.right if choice == RIGHT else part.left


def _is_choosable(part: Part, base: Lore, join_fields: bool) -> bool:
    """Return whether the user chooses a field: not authorship or derived fields, if entries become one."""
    fixed = ("agent", "source_id", "sources", "prior", "relations", "status")
    return not join_fields or (part.name not in fixed and hasattr(base, part.name))


def _align_paragraphs(left: str, right: str) -> tuple[Part, ...]:
    """Align the paragraphs of both texts."""
    all_left, all_right = _split(left), _split(right)
    found: list[Part] = []
    for same, start, end, other_start, other_end in compare_parts(all_left, all_right):
        pairs = zip_longest(all_left[start:end], all_right[other_start:other_end], fillvalue="")
        found += [Part("", text, text if same else other) for text, other in pairs]
    return tuple(found)


def _split(text: str) -> list[str]:
    """Split a text into paragraphs; a code fence stays whole."""
    found: list[str] = []
    inside = False
    for piece in _BREAK.split(text.strip("\n")):
        if inside:
            found[-1] += piece
        elif piece.strip():
            found.append(piece)
        inside ^= len(_FENCE.findall(piece)) % 2 == 1
    return [piece.strip("\n") for piece in found]
