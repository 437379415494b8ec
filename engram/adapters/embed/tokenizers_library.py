"""Token ids from the `tokenizers` library: for every kind of tokenizer and every kind of text."""

from __future__ import annotations

from sys import byteorder

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.tensorfile import HINT
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

    from tokenizers import Tokenizer

ID_FORMAT: Final = "i"  # the code of a packed token id for `memoryview` and numpy: four bytes


def packed_id(token_id: int) -> bytes:
    """Return a token id as a C int. (The standard `array` module would cost 0.3 ms at start-up.)"""
    return token_id.to_bytes(4, byteorder)


class LibraryTokenizer:
    """A tokenizer.json used through the library, which is loaded with the first text (about 35 ms of CPU)."""

    def __init__(self, path: str, unknown_id: int | None) -> None:
        """`unknown_id` is the id for words outside the vocabulary; it is left out of every result."""
        self._path = path
        self._unknown_id = unknown_id
        self._tokenizer: Tokenizer | None = None

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, whole: no special tokens added, nothing truncated. Raises EmbeddingError."""
        # two threads may both load it: either result serves
        tokenizer = self._tokenizer or self._load()
        # the library rejects lone surrogates (undecodable bytes of a command line)
        text = text.encode("utf-8", "replace").decode("utf-8")
        found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return [token_id for token_id in found if token_id != self._unknown_id]

    def forget(self) -> None:
        """Do nothing: no words are cached."""

    def packed(self, text: str) -> bytes:
        """Return the same as C ints, one after the other."""
        return b"".join(map(packed_id, self.ids(text)))

    def _load(self) -> Tokenizer:
        """Read the file with the library."""
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(self._path)
        except Exception as error:  # the library raises no narrower type for a bad file
            raise EmbeddingError(f"The tokenizer {self._path} cannot be loaded: {error}.", HINT) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        return tokenizer
