"""BERT's WordPiece tokenizer for ASCII and typography, with a cache; everything else goes to the library.

The rules are those of BertNormalizer (clean text, lower case), BertPreTokenizer (words at white space, each punctuation
character alone) and WordPiece (longest match first) of the `tokenizers` library: tests compare. No character influences
another across white space, so a text is processed in chunks between white space, most of them cached; only chunks with
other characters go to the library.
"""

from __future__ import annotations

import re
from operator import itemgetter

from engram.adapters.embed.tokenizers_library import ID_FORMAT, packed_id
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.adapters.embed.tokenizers_library import LibraryTokenizer

_LARGEST_CACHE = 1 << 16  # words; about 10 MB
_MOST_CHUNKS = 1 << 17  # about 25 MB
_LONGEST_CHUNK = 40
# BERT removes these, joining the text on both sides.
_CONTROL = dict.fromkeys([*range(32), 127])
# Those that Python's str.split() takes for white space.
_JOINING = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
_WITHOUT_JOINING = dict.fromkeys(map(ord, _JOINING))
# Punctuation of running text: to BERT each is a word of its own, like that of ASCII.
_TYPOGRAPHY = (
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u2022\u00b7\u00ab\u00bb\u00a7\u00bf\u00a1"
)
_PLAIN = re.compile(f"[\0-\x7f{_TYPOGRAPHY}]*").fullmatch
_WORDS = re.compile(r"[a-z0-9]+|[^a-z0-9]")


class Vocabulary(NamedTuple):
    """The data of a WordPiece model.

    `ids`: word or `prefix` + continuation → token id. A word of more than `longest_word` characters, or one that no
    pieces make up, is unknown. `special`: strings that are tokens wherever they occur.
    """

    ids: dict[str, int]
    special: tuple[str, ...]
    prefix: str = "##"
    longest_word: int = 100


class WordPieceTokenizer:
    """Token ids of texts. Safe to use from several threads."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        library: LibraryTokenizer,
        left_out: Callable[[], re.Pattern[str]] | None = None,
    ) -> None:
        """Text that `left_out` matches (letters beyond ASCII and typography) has no tokens."""
        self._special = vocabulary.special
        self._word_memory = _WordCache(vocabulary, library, left_out)
        self._chunk_memory = _ChunkCache(self._word_memory)

    def forget(self) -> None:
        """Free the memory of the words met so far."""
        self._word_memory.clear()
        self._chunk_memory = _ChunkCache(self._word_memory)

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, whole, without unknown words. Raises EmbeddingError."""
        return memoryview(self.packed(text)).cast(ID_FORMAT).tolist()

    def packed(self, text: str) -> bytes:
        """Return the same as C ints, one after the other, without a Python object per token."""
        for special in self._special:
            if special in text:
                return self._word_memory.by_library(text)
        for character in _JOINING:
            if character in text:
                if not text.isascii():  # the joined text may look like a special token to the library
                    return self._word_memory.by_library(text)
                text = text.translate(_WITHOUT_JOINING)
        # One call looks up all of them; with a single key it would not return a tuple, hence the "".
        return b"".join(itemgetter("", *text.split())(self._chunk_memory))


class _ChunkCache(dict[str, bytes]):
    """Packed ids by chunk between white space: most of a text is chunks seen before.

    When full it takes no more; words are cached separately.
    """

    def __init__(self, words: _WordCache) -> None:
        super().__init__({"": b""})
        self._word_ids = words.__getitem__

    def __missing__(self, chunk: str) -> bytes:
        if chunk.isascii() and chunk.isalnum():
            found = self._word_ids(chunk.lower())
        else:
            found = b"".join(map(self._word_ids, _words(chunk)))
        if len(self) < _MOST_CHUNKS and len(chunk) <= _LONGEST_CHUNK:
            self[chunk] = found
        return found


def _words(chunk: str) -> list[str]:
    """Return the normalised words of a chunk; for one beyond ASCII and typography, the chunk itself."""
    if not chunk.isascii() and not _PLAIN(chunk):
        return [chunk]
    plain = chunk if chunk.isprintable() else chunk.translate(_CONTROL)
    return _WORDS.findall(plain.lower())


class _WordCache(dict[str, bytes]):
    """Packed ids by normalised word or raw chunk beyond ASCII, computed on first use."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        library: LibraryTokenizer,
        left_out: Callable[[], re.Pattern[str]] | None,
    ) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        self._library = library
        self._left_out = left_out

    def by_library(self, text: str) -> bytes:
        """Return the packed ids of a text in any script. Raises EmbeddingError."""
        return self._library.packed(self._left_out().sub(" ", text) if self._left_out else text)

    def __missing__(self, word: str) -> bytes:
        plain = word.isascii() or word in _TYPOGRAPHY
        found = self._pieces(word) if plain else self.by_library(word)
        if len(word) <= self._vocabulary.longest_word:
            if len(self) >= _LARGEST_CACHE:
                self.clear()
            self[word] = found
        return found

    def _pieces(self, word: str) -> bytes:
        """Return the ids of a normalised word, longest piece first; none if any part of it is unknown."""
        ids, _, prefix, longest_word = self._vocabulary
        if len(word) > longest_word:
            return b""
        found = b""
        rest, lead = word, 0
        while len(rest) > lead:
            for end in range(len(rest), lead, -1):
                if rest[:end] in ids:
                    break
            else:
                return b""
            found += packed_id(ids[rest[:end]])
            rest, lead = prefix + rest[end:], len(prefix)
        return found
