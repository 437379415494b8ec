"""Detect known entities in a text: whole words, longest match first, exact names only."""

from __future__ import annotations

import re

from engram.domain.graph.entity_rules import key_of
from engram.domain.text.everyday_words import EVERYDAY_WORDS
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from engram.domain.graph.entity import Entity

MOST = 12  # entities detected in one text
_MIN_LENGTH = 2
_CASE_LIMIT = 4  # letters: shorter or equal names are case-sensitive
_WORD = re.compile(r"[^\W_]+")
# A name next to one of these is part of something else: a path, a package, another product.
_GLUE = frozenset("-/.@_:\\$#+=&%~")


class Name(NamedTuple):
    """A spelling of a name: the offset of its first word, whether case matters (`exact`), and the slugs it may mean."""

    text: str
    offset: int
    exact: bool
    slugs: tuple[str, ...]


class Names:
    """An index of entity names by first word; names are prepared when their first word first occurs."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        """Index all names and aliases; a name that several entities share matches none."""
        self._by_word: dict[str, list[tuple[str, str]]] = {}
        self._groups: dict[str, _Group] = {}
        for entity in entities:
            for name in (entity.name, *entity.aliases):
                first = _WORD.search(name)
                if first is not None:
                    self._by_word.setdefault(first[0].lower(), []).append((name, entity.slug))

    def found_in(self, text: str) -> tuple[str, ...]:
        """Return the slugs of the entities that a text names, in order of occurrence, at most `MOST`."""
        line = " ".join(text.split())
        found: dict[str, None] = {}
        end = 0
        for word in _WORD.finditer(line):
            group = self._group(word[0].lower()) if word.start() >= end else None
            name = group.longest_at(line, word.start()) if group is not None else None
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
        """Prepare the pairs of a name and a slug."""
        slugs_by_key: dict[str, dict[str, None]] = {}
        for name, slug in names:
            slugs_by_key.setdefault(key_of(name), {})[slug] = None
        self._names: dict[str, list[Name]] = {}
        for spelling in dict.fromkeys([" ".join(name.split()) for name, _ in names]):
            if len(spelling) >= _MIN_LENGTH and any(map(str.isalpha, spelling)):
                self._add(spelling, tuple(slugs_by_key[key_of(spelling)]))
        shapes = {(len(name.text), name.offset) for found in self._names.values() for name in found}
        self._shapes = sorted(shapes, reverse=True)

    def _add(self, text: str, slugs: tuple[str, ...]) -> None:
        first = _WORD.search(text)
        offset = first.start() if first is not None else 0
        name = Name(text, offset, is_case_sensitive(text), slugs)
        self._names.setdefault(text.lower(), []).append(name)

    def longest_at(self, line: str, start: int) -> Name | None:
        """Return the longest name whose first word begins at `start`; None if there is none."""
        for length, offset in self._shapes:
            begin = start - offset
            text = line[begin : begin + length] if begin >= 0 else ""
            for name in self._names.get(text.lower(), ()):
                matches = name.offset == offset and (text == name.text or not name.exact)
                if matches and _stands_alone(line, begin, begin + length):
                    return name
        return None


def is_case_sensitive(name: str) -> bool:
    """Whether the case of a name matters: it is short, or made of everyday words (`Spring`, `the Gateway`)."""
    letters = sum(map(str.isalnum, name))
    words = [word.lower() for word in _WORD.findall(name)]
    return letters <= _CASE_LIMIT or all(word in EVERYDAY_WORDS or word in STOP_WORDS for word in words)


def _stands_alone(line: str, begin: int, end: int) -> bool:
    before, after = line[begin - 1 : begin] if begin else "", line[end : end + 1]
    if _is_word(before) or _is_word(after) or (before and before in _GLUE) or (after and after in "+#"):
        return False
    return not after or after not in _GLUE or not _is_word(line[end + 1 : end + 2])


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
