"""Which known entities a text names: whole words, the longest name where several begin alike, nothing guessed."""

from __future__ import annotations

import re

from engram.domain.entity_rules import key_of
from engram.domain.everyday_words import EVERYDAY_WORDS
from engram.domain.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.domain.entity import Entity

MOST = 12  # entities that are taken from one text
_SHORTEST = 2
_SHORT = 4  # letters; a name of so few counts only as it is written
_WORD = re.compile(r"\w+")
# Beside a name these make it a part of something else: a path, a package, another product.
_GLUE = frozenset("-/.@_:\\$#+=&%~")


class Name(NamedTuple):
    """A name as it can stand in a text: where its first word begins in it, whether its case counts, who is meant."""

    text: str
    offset: int
    exact: bool
    slugs: tuple[str, ...]


class Names:
    """All names of some entities, ready to be looked for."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        """A name that several entities have stands for none of them."""
        meant: dict[str, dict[str, None]] = {}
        spelled: dict[str, set[str]] = {}
        for entity in entities:
            for name in dict.fromkeys((entity.name, *entity.aliases)):
                meant.setdefault(key_of(name), {})[entity.slug] = None
                spelled.setdefault(key_of(name), set()).add(" ".join(name.split()))
        self._by_word: dict[str, list[Name]] = {}
        for key, names in spelled.items():
            for name in names:
                self._add(name, tuple(meant[key]))
        for found in self._by_word.values():
            found.sort(key=lambda name: (-len(name.text), name.text))

    def _add(self, text: str, slugs: tuple[str, ...]) -> None:
        first = _WORD.search(text)
        if first is None or len(text) < _SHORTEST or not any(map(str.isalpha, text)):
            return
        name = Name(text, first.start(), counts_only_as_written(text), slugs)
        self._by_word.setdefault(first.group().lower(), []).append(name)

    def found_in(self, text: str) -> tuple[str, ...]:
        """The slugs of the entities that a text names, in the order in which it does, at most `MOST`."""
        line = " ".join(text.split())
        found: dict[str, None] = {}
        end = 0
        for word in _WORD.finditer(line):
            if word.start() < end:
                continue
            name = _named_at(line, word.start(), self._by_word.get(word.group().lower(), ()))
            if name is not None:
                end = word.start() - name.offset + len(name.text)
                found.update(dict.fromkeys(name.slugs if len(name.slugs) == 1 else ()))
        return tuple(found)[:MOST]


def counts_only_as_written(name: str) -> bool:
    """Whether the case of a name matters: it is short, or all its words are everyday ones (`Spring`, `the Gateway`)."""
    letters = sum(map(str.isalnum, name))
    words = [word.lower() for word in _WORD.findall(name)]
    return letters <= _SHORT or all(word in EVERYDAY_WORDS or word in STOP_WORDS for word in words)


def _named_at(line: str, start: int, names: Iterable[Name]) -> Name | None:
    for name in names:
        begin = start - name.offset
        end = begin + len(name.text)
        said = line[begin:end] if begin >= 0 else ""
        same = said == name.text if name.exact else said.lower() == name.text.lower()
        if same and _stands_alone(line, begin, end):
            return name
    return None


def _stands_alone(line: str, begin: int, end: int) -> bool:
    before, after = line[begin - 1 : begin] if begin else "", line[end : end + 1]
    if _is_word(before) or _is_word(after) or (before and before in _GLUE) or (after and after in "+#"):
        return False
    return not after or after not in _GLUE or not _is_word(line[end + 1 : end + 2])


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
