"""The terms of a store's entries, the rarity of words, and their nearness in the bundled model."""

from __future__ import annotations

import re
import zlib

from engram.domain.errors import EngramError
from engram.domain.similarity.claims import stem_of
from engram.domain.similarity.pairs import Words, rarity
from engram.domain.text.content_words import PART
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.catalog import Text
    from engram.adapters.index.nearest_pairs import Terms

# To lower case, and spaces for ASCII but letters and digits: splitting at spaces is ten times as fast as a regex.
_BOUNDS = bytes(ord(char.lower()) if char.isalnum() else 32 for char in map(chr, range(128))) + bytes(
    range(128, 256)
)
_PUNCTUATION = re.compile(rb"\xe2\x80[\x80-\xbf]")  # dashes, quotes, ellipses: most non-ASCII text


def term(stem: str) -> int:
    """Return the 32-bit number that stands for a stem; two stems in a million share one."""
    return zlib.crc32(stem.encode())


class TermsOf(dict[str | bytes, int]):
    """A cache of the terms of case-folded words, 0 for a stop word.

    A word may be ASCII bytes: not decoding all words of a store saves a tenth of the time to read it. Beyond ASCII,
    anything but a single case-folded word has 0.
    """

    def __missing__(self, word: str | bytes) -> int:
        """Compute the term of a word."""
        text = word if isinstance(word, str) else word.decode()
        one_word = text.isascii() or (PART.fullmatch(text) is not None and text == text.casefold())
        stem = stem_of(text) if one_word else ""
        found = term(stem) if stem else 0
        self[word] = found
        return found


def read_terms(
    read: Callable[[str], bytes], texts: Sequence[Text], places: numpy.ndarray, cached: Terms | None
) -> Terms:
    """Return the terms of each entry: from its place in `cached` or, if that is -1, from its file."""
    from engram.adapters.index.nearest_pairs import Terms
    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    known = TermsOf()
    found = []
    for text, place in zip(texts, places.tolist(), strict=True):
        if place >= 0 and cached is not None:
            found.append(cached.terms[cached.starts[place] : cached.starts[place + 1]])
        else:
            terms = _terms_in(read, text.path, known)
            found.append(np.fromiter(terms, np.uint32, len(terms)))
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms in found], dtype=np.int64)]).astype(
        np.int64
    )
    return Terms(starts, np.concatenate(found) if found else np.zeros(0, np.uint32))


def _terms_in(read: Callable[[str], bytes], path: str, known: TermsOf) -> set[int]:
    """Return the terms of a file without its frontmatter; none if it cannot be read now."""
    try:
        raw = read(path)
    except EngramError:
        return set()
    if raw.startswith(b"---"):
        raw = raw[max(0, raw.find(b"\n---", 3) + 4) :]
    plain = raw.translate(_BOUNDS)
    if not plain.isascii():
        plain = _PUNCTUATION.sub(b" ", plain)
    if plain.isascii():
        found = {*map(known.__getitem__, plain.split())}
    else:
        words = plain.decode(errors="replace").split()
        found = {*map(known.__getitem__, words)}
        for word in words:
            if not word.isascii():
                found.update(map(known.__getitem__, PART.findall(word.casefold())))
    found.discard(0)
    return found


class _Weights(dict[str, float]):
    """The weight of each stem by its rarity among `total` entries, computed on first use."""

    def __init__(self, frequency: Callable[[str], int], total: int) -> None:
        super().__init__()
        self._frequency, self._total = frequency, total

    def __missing__(self, stem: str) -> float:
        found = self[stem] = rarity(self._frequency(stem), self._total)
        return found


class StoreWords:
    """The weights and the nearness of words; `frequency` returns how many of `total` entries have a stem."""

    def __init__(self, embedder: Embedder, frequency: Callable[[str], int], total: int) -> None:
        """Take the bundled `embedder`: the weights of pairs were learnt with it."""
        self._embedder = embedder
        self._weights = _Weights(frequency, total)
        self._rows: dict[str, int] = {}
        # By the id of the text's words, which are kept so that the id is not reused.
        self._texts: dict[int, tuple[Mapping[str, str], numpy.ndarray]] = {}
        self._vectors: numpy.ndarray | None = None

    def words(self) -> Words:
        """Return both as the rules of pairs take them."""
        return Words(self._weights.__getitem__, self.nearness)

    def nearness(self, own: Sequence[str], others: Mapping[str, str]) -> list[float]:
        """Return for each of `own` the cosine of the nearest word of `others`, whose rows are looked up once."""
        known = self._texts.get(id(others))
        if known is None:
            known = self._texts[id(others)] = others, self._rows_of(others)
        rows = self._rows_of(own)
        assert self._vectors is not None
        nearest: list[float] = (self._vectors[rows] @ self._vectors[known[1]].T).max(axis=1).tolist()
        return nearest

    def _rows_of(self, words: Iterable[str]) -> numpy.ndarray:
        """Return the rows of words among the vectors, embedding new words."""
        from engram.adapters.numeric import numpy_module

        np = numpy_module()
        rows = self._rows
        unknown = [word for word in words if word not in rows]
        if unknown:
            used = len(rows)
            if self._vectors is None or used + len(unknown) > len(self._vectors):
                grown = np.zeros((2 * (used + len(unknown)), self._embedder.dimensions), np.float32)
                if self._vectors is not None:
                    grown[:used] = self._vectors[:used]
                self._vectors = grown
            self._vectors[used : used + len(unknown)] = self._embedder.embed_parts(
                unknown, [1] * len(unknown)
            )
            rows.update(zip(unknown, range(used, used + len(unknown)), strict=True))
        found: numpy.ndarray = np.array([rows[word] for word in words])
        return found
