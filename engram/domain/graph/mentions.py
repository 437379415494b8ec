"""Which known entities a text names: whole words, the longest name where several begin alike, nothing guessed."""

from __future__ import annotations

import re

from engram.domain.graph.entity_rules import key_of
from engram.domain.text.everyday_words import EVERYDAY_WORDS
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from engram.domain.graph.entity import Entity

MOST = 12  # entities that are taken from one text
_SHORTEST = 2
_SHORT = 4  # letters; a name of so few counts only as it is written
_WORD = re.compile(r"[^\W_]+")
# Beside a name these make it a part of something else: a path, a package, another product.
_GLUE = frozenset("-/.@_:\\$#+=&%~")


class Name(NamedTuple):
    """A name as it can stand in a text: where its first word begins in it, whether its case counts, who is meant."""

    text: str
    offset: int
    exact: bool
    slugs: tuple[str, ...]


class Names:
    """All names of some entities, ready to be looked for; a name is only looked at once its first word is in a text."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        """A name that several entities have stands for none of them."""
        self._by_word: dict[str, list[tuple[str, str]]] = {}
        self._groups: dict[str, _Group] = {}
        for entity in entities:
            for name in (entity.name, *entity.aliases):
                first = _WORD.search(name)
                if first is not None:
                    self._by_word.setdefault(first[0].lower(), []).append((name, entity.slug))

    def found_in(self, text: str) -> tuple[str, ...]:
        """The slugs of the entities that a text names, in the order in which it does, at most `MOST`."""
        line = " ".join(text.split())
        found: dict[str, None] = {}
        end = 0
        for word in _WORD.finditer(line):
            group = self._group(word[0].lower()) if word.start() >= end else None
            name = group.named_at(line, word.start()) if group is not None else None
            if name is not None:
                end = word.start() - name.offset + len(name.text)
                found.update(dict.fromkeys(name.slugs if len(name.slugs) == 1 else ()))
        return tuple(found)[:MOST]

    def _group(self, word: str) -> _Group | None:
        if word in self._by_word and word not in self._groups:
            self._groups[word] = _Group(self._by_word[word])
        return self._groups.get(word)


class _Group:
    """The names that begin with one word."""

    def __init__(self, names: Collection[tuple[str, str]]) -> None:
        """`names` are names and the slugs that they mean."""
        meant: dict[str, dict[str, None]] = {}
        for name, slug in names:
            meant.setdefault(key_of(name), {})[slug] = None
        self._names: dict[str, list[Name]] = {}
        for spelled in dict.fromkeys([" ".join(name.split()) for name, _ in names]):
            if len(spelled) >= _SHORTEST and any(map(str.isalpha, spelled)):
                self._add(spelled, tuple(meant[key_of(spelled)]))
        shapes = {(len(name.text), name.offset) for found in self._names.values() for name in found}
        self._shapes = sorted(shapes, reverse=True)

    def _add(self, text: str, slugs: tuple[str, ...]) -> None:
        first = _WORD.search(text)
        offset = first.start() if first is not None else 0
        name = Name(text, offset, counts_only_as_written(text), slugs)
        self._names.setdefault(text.lower(), []).append(name)

    def named_at(self, line: str, start: int) -> Name | None:
        """The longest of the names whose first word is at `start` of the line."""
        for length, offset in self._shapes:
            begin = start - offset
            said = line[begin : begin + length] if begin >= 0 else ""
            for name in self._names.get(said.lower(), ()):
                same = name.offset == offset and (said == name.text or not name.exact)
                if same and _stands_alone(line, begin, begin + length):
                    return name
        return None


def counts_only_as_written(name: str) -> bool:
    """Whether the case of a name matters: it is short, or all its words are everyday ones (`Spring`, `the Gateway`)."""
    letters = sum(map(str.isalnum, name))
    words = [word.lower() for word in _WORD.findall(name)]
    return letters <= _SHORT or all(word in EVERYDAY_WORDS or word in STOP_WORDS for word in words)


def _stands_alone(line: str, begin: int, end: int) -> bool:
    before, after = line[begin - 1 : begin] if begin else "", line[end : end + 1]
    if _is_word(before) or _is_word(after) or (before and before in _GLUE) or (after and after in "+#"):
        return False
    return not after or after not in _GLUE or not _is_word(line[end + 1 : end + 2])


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
