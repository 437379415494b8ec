"""BERT's WordPiece tokenizer for plain ASCII, with a memory of words; everything else goes to the library.

The rules are those of BertNormalizer (clean text, lower case), BertPreTokenizer (words at white space, each
punctuation character alone) and WordPiece (longest match first) of the `tokenizers` library: tests compare.
White space ends every influence of one character on another, so in a text with characters beyond ASCII only
the chunks between white space that have some go to the library.
"""

from __future__ import annotations

import re
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.embed.tokenizers_library import LibraryTokenizer

_LARGEST_CACHE = 1 << 16  # words; about 10 MB
_MOST_CHUNKS = 1 << 17  # about 25 MB
_LONGEST_CHUNK = 40
# Letters go to lower case; control characters vanish, so that the text on both sides of them joins.
_NORMAL = {code: chr(code).lower() if 32 <= code < 127 else None for code in range(128)}
_NORMAL |= {ord(space): " " for space in " \t\n\r"}
# Punctuation of running text: BERT makes each a word of its own, so text may be cut there.
_TYPOGRAPHY = re.compile(
    "([\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u2022\u00b7\u00ab\u00bb\u00a7\u00bf\u00a1])"
)
# Python's str.split() takes these for white space, BERT removes them.
_JOINING = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
_WORDS = re.compile(r"[a-z0-9]+|[^a-z0-9 ]")


class Vocabulary(NamedTuple):
    """What a WordPiece model is made of.

    `ids`: word or `prefix` + continuation → token id. A word of more than `longest_word` characters, or one
    that no pieces make up, is unknown. `special`: strings that are tokens wherever they stand.
    """

    ids: dict[str, int]
    special: tuple[str, ...]
    prefix: str = "##"
    longest_word: int = 100


class WordPieceTokenizer:
    """Token ids of texts. Safe to use from several threads."""

    def __init__(self, vocabulary: Vocabulary, library: LibraryTokenizer) -> None:
        self._special = vocabulary.special
        self._library = library
        self._word_memory = _WordCache(vocabulary, library)
        self._chunk_ids = _ChunkCache(self._word_memory).__getitem__

    def ids(self, text: str) -> list[int]:
        """The token ids of a text, whole, unknown words left out. Raises EmbeddingError."""
        for special in self._special:
            if special in text:
                return self._library.ids(text)
        if text.isascii():
            return self._of_chunks(_chunks(text))
        parts = _TYPOGRAPHY.split(text)
        if all(map(str.isascii, parts[::2])):
            found: list[str] = []
            for part in parts:
                found += _chunks(part) if part.isascii() else [part]
            return self._of_chunks(found)
        if _JOINING.search(text):
            return self._library.ids(text)
        chunks: list[str] = []
        for plain, group in groupby(text.split(), str.isascii):
            raw = list(group)
            chunks += _chunks(" ".join(raw)) if plain else raw
        return self._of_chunks(chunks)

    def _of_chunks(self, chunks: list[str]) -> list[int]:
        """The ids of chunks, one after the other."""
        return list(chain.from_iterable(map(self._chunk_ids, chunks)))


def _chunks(text: str) -> list[str]:
    """What stands between the white space of an ASCII text, normalised."""
    return text.translate(_NORMAL).split()


class _ChunkCache(dict[str, tuple[int, ...]]):
    """Token ids by chunk: most of a text is chunks seen before. Full, it takes no more; its words are still known."""

    def __init__(self, words: _WordCache) -> None:
        super().__init__()
        self._word_ids = words.__getitem__

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        words = _WORDS.findall(chunk) if chunk.isascii() else [chunk]
        found = tuple(chain.from_iterable(map(self._word_ids, words)))
        if len(self) < _MOST_CHUNKS and len(chunk) <= _LONGEST_CHUNK:
            self[chunk] = found
        return found


class _WordCache(dict[str, tuple[int, ...]]):
    """Token ids by normalised word or raw chunk beyond ASCII, worked out when first asked for."""

    def __init__(self, vocabulary: Vocabulary, library: LibraryTokenizer) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        self._library = library

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = self._pieces(word) if word.isascii() else tuple(self._library.ids(word))
        if len(word) <= self._vocabulary.longest_word:
            if len(self) >= _LARGEST_CACHE:
                self.clear()
            self[word] = found
        return found

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The ids of one normalised word, longest piece first; none when any part of it is unknown."""
        ids, _, prefix, longest_word = self._vocabulary
        if len(word) > longest_word:
            return ()
        found: list[int] = []
        start, lead = 0, ""
        while start < len(word):
            for end in range(len(word), start, -1):
                token_id = ids.get(lead + word[start:end])
                if token_id is not None:
                    break
            else:
                return ()
            found.append(token_id)
            start, lead = end, prefix
        return tuple(found)
