"""Tokenizers: our own for the bundled model, the library's for other models and for text in other scripts."""

from __future__ import annotations

import os
import re
from operator import itemgetter
from sys import byteorder

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import TOKENIZER_FILE, VOCABULARY_FILE
from engram.domain.text.scripts import not_latin
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from tokenizers import Tokenizer as Library

    from engram.adapters.embed.protocols import Tokenizer

# Token ids from the `tokenizers` library, for any tokenizer and any text.

ID_FORMAT: Final = "i"  # the code of a packed token id for `memoryview` and numpy: four bytes


def pack_id(token_id: int) -> bytes:
    """Return a token id as a C int. (Importing `array` instead would take 0.3 ms of start-up.)"""
    return token_id.to_bytes(4, byteorder)


class LibraryTokenizer:
    """A tokenizer of the library, which is loaded with the first text (about 35 ms of CPU)."""

    def __init__(self, load: Callable[[], Library], unknown_id: int | None) -> None:
        """`load` returns a tokenizer that neither truncates nor pads; the token `unknown_id` is left out of the results."""
        self._load = load
        self._unknown_id = unknown_id
        self._tokenizer: Library | None = None

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, whole: no special tokens added, nothing truncated. Raises EmbeddingError."""
        # Two threads may both load it, with the same result.
        tokenizer = self._tokenizer = self._tokenizer or self._load()
        # The library rejects lone surrogates (undecodable bytes of a command line).
        text = text.encode("utf-8", "replace").decode("utf-8")
        found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return [token_id for token_id in found if token_id != self._unknown_id]

    def forget(self) -> None:
        """Do nothing: no words are cached."""

    def packed(self, text: str) -> bytes:
        """Return the same as C ints, one after the other."""
        return b"".join(map(pack_id, self.ids(text)))


def load_library(path: str) -> Library:
    """Load a tokenizer.json with the library, without truncation and padding. Raises EmbeddingError."""
    from tokenizers import Tokenizer as Library

    try:
        tokenizer = Library.from_file(path)
    except Exception as error:  # the library raises no narrower type for a bad file
        raise EmbeddingError(
            f"The tokenizer {path} cannot be loaded: {error}.", "Install Engram again."
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


# As in the bundled tokenizer.json, without reading its 640 KB (a test compares).
BUNDLED_SPECIAL = ("[PAD]", "[UNK]")
BUNDLED_UNKNOWN = 1


def bundled_tokenizer(folder: str) -> Tokenizer:
    """Return the tokenizer of the bundled model, from its word list. Raises EmbeddingError if it is missing.

    Text in other scripts than Latin is left out: the model knows only some of their letters, which would make any two
    texts similar.
    """
    try:
        with open(os.path.join(folder, VOCABULARY_FILE), "rb") as file:
            words = file.read().decode().split("\n")
    except (OSError, ValueError) as error:
        raise EmbeddingError("The bundled model is incomplete.", "Install Engram again.") from error
    vocabulary = Vocabulary(dict(zip(words, range(len(words)), strict=True)), BUNDLED_SPECIAL)
    path = os.path.join(folder, TOKENIZER_FILE)
    return WordPieceTokenizer(
        vocabulary, LibraryTokenizer(lambda: load_library(path), BUNDLED_UNKNOWN), not_latin
    )


# BERT's WordPiece tokenizer for ASCII and typography, with a cache; everything else goes to the library.
#
# The rules are those of BertNormalizer (clean text, lower case), BertPreTokenizer (words at white space, each punctuation
# character alone) and WordPiece (longest match first) of the `tokenizers` library; tests compare the results. Characters
# do not influence one another across white space, so a text is processed in chunks between white space, most of them
# cached; only chunks with other characters go to the library.

_LARGEST_CACHE = 1 << 16  # words; about 10 MB
_MOST_CHUNKS = 1 << 17  # about 25 MB
_LONGEST_CHUNK = 40
# BERT removes these, joining the text on both sides.
_CONTROL = dict.fromkeys([*range(32), 127])
# Those of them that Python's str.split() splits at.
_JOINING = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
_WITHOUT_JOINING = dict.fromkeys(map(ord, _JOINING))
# Common punctuation beyond ASCII: to BERT each character is a word of its own, as in ASCII.
_TYPOGRAPHY = (
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u2022\u00b7\u00ab\u00bb\u00a7\u00bf\u00a1"
)
_PLAIN = re.compile(f"[\0-\x7f{_TYPOGRAPHY}]*").fullmatch
_WORDS = re.compile(r"[a-z0-9]+|[^a-z0-9]")


class Vocabulary(NamedTuple):
    """The data of a WordPiece model.

    `ids`: word or `prefix` + continuation → token id. A word of more than `longest_word` characters, or one that has no
    split into pieces, is unknown; its id is `unknown` (packed). `special`: strings that are tokens wherever they occur.
    """

    ids: dict[str, int]
    special: tuple[str, ...]
    prefix: str = "##"
    longest_word: int = 100
    unknown: bytes = b""


class WordPieceTokenizer:
    """Token ids of texts. Safe to use from several threads."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        library: LibraryTokenizer,
        left_out: Callable[[], re.Pattern[str]] | None = None,
    ) -> None:
        """Text that the pattern of `left_out` matches (letters beyond ASCII and typography) gets no tokens."""
        self._special = vocabulary.special
        self._word_memory = _WordCache(vocabulary, library, left_out)
        self._chunk_memory = _ChunkCache(self._word_memory)

    def forget(self) -> None:
        """Clear the caches of words and chunks."""
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
        # One call looks up all chunks; the "" makes it return a tuple for a single chunk, too.
        return b"".join(itemgetter("", *text.split())(self._chunk_memory))


class _ChunkCache(dict[str, bytes]):
    """Packed ids by chunk between white space: most chunks of a text have been seen before.

    A full cache takes no more chunks; words are cached separately.
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
        """Return the ids of the pieces of a normalised word, longest match first; `unknown` if a part has no piece."""
        ids, _, prefix, longest_word, unknown = self._vocabulary
        if len(word) > longest_word:
            return unknown
        found = b""
        rest, lead = word, 0
        while len(rest) > lead:
            for end in range(len(rest), lead, -1):
                if rest[:end] in ids:
                    break
            else:
                return unknown
            found += pack_id(ids[rest[:end]])
            rest, lead = prefix + rest[end:], len(prefix)
        return found
