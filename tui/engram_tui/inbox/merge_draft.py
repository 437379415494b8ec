"""The choices of a merge: for each paragraph and field in which two versions differ, the left, the right or both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.domain.text.word_diff import compare_parts
from engram.usecases.recording.edited_result import FIELDS

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore

LEFT, RIGHT, BOTH = "left", "right", "both"
_FENCE = re.compile(r"^```", re.MULTILINE)
_BREAK = re.compile(r"(\n[ \t]*\n\s*)")


class Part(NamedTuple):
    """A paragraph (`name` is "") or a field of both sides. Equal sides leave nothing to choose."""

    name: str
    left: Any
    right: Any

    @property
    def differs(self) -> bool:
        """Whether there is something to choose."""
        return bool(self.left != self.right)

    @property
    def joins(self) -> bool:
        """Whether both can stay."""
        return not self.name or isinstance(self.left, tuple)


class MergeDraft:
    """The choices between two versions of an entry; `base` has all that is not for choosing."""

    def __init__(self, left: Lore, right: Lore, base: Lore, *, join_fields: bool = False) -> None:
        """Choose the left text at first; with `join_fields` the lists of both."""
        self.base = base
        self.paragraphs = _paragraphs(left.content, right.content)
        fields = [
            Part(name, getattr(left, name), getattr(right, name)) for name in FIELDS if name != "content"
        ]
        asked = [part for part in fields if part.differs and _is_asked(part, base, join_fields)]
        self.rows: tuple[Part, ...] = (*(part for part in self.paragraphs if part.differs), *asked)
        self.choices = [BOTH if part.name and part.joins and join_fields else LEFT for part in self.rows]
        self._row_of = {id(part): at for at, part in enumerate(self.rows)}

    def choice_of(self, part: Part) -> str:
        """Return the choice for a part; "" where there is nothing to choose."""
        row = self._row_of.get(id(part))
        return "" if row is None else self.choices[row]

    def choose(self, row: int, choice: str) -> bool:
        """Choose for a row; returns False where both cannot stay."""
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


def _is_asked(part: Part, base: Lore, join_fields: bool) -> bool:
    """Return whether a field is for choosing: authorship and derived fields of entries that become one are not."""
    own = ("agent", "source_id", "sources", "prior", "relations", "status")
    return not join_fields or (part.name not in own and hasattr(base, part.name))


def _paragraphs(left: str, right: str) -> tuple[Part, ...]:
    """Align the paragraphs of both texts."""
    one, other = _split(left), _split(right)
    found: list[Part] = []
    for same, start, end, from_, to in compare_parts(one, other):
        if same:
            found += [Part("", text, text) for text in one[start:end]]
            continue
        mine, others = one[start:end], other[from_:to]
        for at in range(max(len(mine), len(others))):
            found.append(Part("", _at(mine, at), _at(others, at)))
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


def _at(texts: Sequence[str], index: int) -> str:
    return texts[index] if index < len(texts) else ""
