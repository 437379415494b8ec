"""What a store knows of words: how rare each is in it, and which are near to one another in the bundled model."""

from __future__ import annotations

import zlib

from engram.domain.similarity.claims import stem_of
from engram.domain.similarity.pairs import Words, rarity
from engram.domain.text.words import PART
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy

    from engram.adapters.embed.protocols import Embedder


def term(stem: str) -> int:
    """The number that stands for a stem where terms are kept: 32 bits, so two stems in a million share one."""
    return zlib.crc32(stem.encode())


class TermsOf(dict[str | bytes, int]):
    """From a case-folded word to its term, 0 for one without meaning; remembers what it worked out.

    A word may be ASCII bytes: not to decode all words of a store saves a tenth of reading it. Beyond ASCII, what is not
    one case-folded word has 0.
    """

    def __missing__(self, word: str | bytes) -> int:
        """Work out the term of a word."""
        text = word if isinstance(word, str) else word.decode()
        one_word = text.isascii() or (PART.fullmatch(text) is not None and text == text.casefold())
        stem = stem_of(text) if one_word else ""
        found = term(stem) if stem else 0
        self[word] = found
        return found


class _Weights(dict[str, float]):
    """The weight of each stem by its rarity in `total` lore, worked out when it is first asked for."""

    def __init__(self, frequencies: Mapping[int, int], total: int) -> None:
        super().__init__()
        self._frequencies, self._total = frequencies, total

    def __missing__(self, stem: str) -> float:
        found = self[stem] = rarity(self._frequencies.get(term(stem), 0), self._total)
        return found


class StoreWords:
    """The weights and the nearness of words, from the frequencies of terms in `total` lore."""

    def __init__(self, embedder: Embedder, frequencies: Mapping[int, int], total: int) -> None:
        """`embedder` is always the bundled one: the weights of pairs were learnt with it."""
        self._embedder = embedder
        self._weights = _Weights(frequencies, total)
        self._rows: dict[str, int] = {}
        self._texts: dict[
            int, tuple[Mapping[str, str], numpy.ndarray]
        ] = {}  # holding the text keeps its id its own
        self._vectors: numpy.ndarray | None = None

    def words(self) -> Words:
        """As the rules of pairs want it."""
        return Words(self._weights.__getitem__, self.nearness)

    def nearness(self, own: Sequence[str], others: Mapping[str, str]) -> list[float]:
        """For each of `own` the cosine of the nearest of the words of `others`, which are looked up once for a text."""
        known = self._texts.get(id(others))
        if known is None:
            known = self._texts[id(others)] = others, self._known(others)
        rows = self._known(own)
        assert self._vectors is not None
        nearest: list[float] = (self._vectors[rows] @ self._vectors[known[1]].T).max(axis=1).tolist()
        return nearest

    def _known(self, words: Iterable[str]) -> numpy.ndarray:
        """The rows of words among the vectors."""
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
