"""The embedder of a slow provider: each vector is computed once and cached.

A long text is cut into slices; its own vector is the direction of the sum of theirs, so nothing is embedded twice, and
no text is longer than a transformer reads.
"""

from __future__ import annotations

import contextlib
import time

from engram.adapters.embed.errors import EmbeddingError, EmbeddingUnavailableError
from engram.adapters.embed.table import units
from engram.adapters.embed.vector_cache import text_key
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.protocols import Embedder, Encoder
    from engram.adapters.embed.table import Nearness
    from engram.adapters.embed.vector_cache import VectorCache
    from engram.domain.recall.ranking import Trust

_LATER = "Engram retries later; `engram reindex` retries now."
_PROBE = "how long are your vectors"
_MAX_QUESTIONS = 64
REST_NS = 30_000_000_000
_MAX_SHIFT = 80  # characters by which a cut may move to fall between two words


class EncodedEmbedder:
    """An `Embedder` over an `Encoder`, with a cache of its vectors."""

    costly = True
    immediate = None

    def __init__(
        self,
        name: str,
        identity: str,
        encoder: Encoder,
        cache: VectorCache,
        now_ns: Callable[[], int] | None = None,
        dimensions: int = 0,
        trust: Trust | None = None,
    ) -> None:
        """Ask the encoder for one vector if the dimensions are unknown (0). Raises EmbeddingError."""
        self.trust = trust
        self._now_ns = now_ns or time.time_ns
        self._used_keys: set[bytes] = set()
        self.name = name
        self.identity = identity
        self.cache = cache
        self._encoder = encoder
        self._questions: dict[str, NDArray[np.float32]] = {}
        self.dimensions = dimensions or cache.dimensions or self._ask_dimensions()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, (len(texts), dimensions): of length 1, or zeros. Raises EmbeddingError."""
        return self.embed_parts(texts, [1] * len(texts))

    def embed_parts(self, texts: Sequence[str], parts: Sequence[int]) -> NDArray[np.float32]:
        """Return vectors of texts and their parts, (rows, dimensions): unit rows or zeros. Raises EmbeddingError."""
        slices, known, missing = self._look_up(texts, parts)
        if missing:
            known |= self._make_vectors(missing, patient=True)
        return self._rows(slices, known)[0]

    def embed_available(
        self, texts: Sequence[str], parts: Sequence[int], most: int
    ) -> tuple[NDArray[np.float32], list[bool], list[bytes]]:
        """Return the cached vectors, and make the others if there are at most `most`; zeros for an incomplete text."""
        slices, known, missing = self._look_up(texts, parts)
        if 0 < len(missing) <= most:
            with contextlib.suppress(EmbeddingUnavailableError):
                known |= self._make_vectors(missing, patient=False)
        return *self._rows(slices, known), []

    def without_numpy(self) -> None:
        """Return None: making these vectors takes longer than importing numpy."""

    def substitute_for(self, model: str) -> None:
        """Return None: an entry has no other vectors."""

    def nearness(
        self,
        words: Sequence[str],  # noqa: ARG002 - used by a subclass
        weights: Sequence[float],  # noqa: ARG002
        texts: Sequence[bytes],  # noqa: ARG002
    ) -> Nearness | None:
        """Return None: single tokens have no vectors here."""
        return None

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of one text, (dimensions,), cached for the last queries. Raises EmbeddingError."""
        return self._one(text)

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine of a text with each of the others. Raises EmbeddingError."""
        own = self._one(text)
        return [float(own @ self._one(other)) for other in others]

    def _one(self, text: str) -> NDArray[np.float32]:
        found = self._questions.get(text)
        if found is None:
            found = self._embed_question(text)
            if len(self._questions) >= _MAX_QUESTIONS:
                self._questions.clear()
            self._questions[text] = found
        return found

    def share(self, other: Embedder) -> None:
        """Take over the cached queries and the loaded model of another store's embedder, for a query of several stores."""
        if isinstance(other, EncodedEmbedder) and other.identity == self.identity:
            self._questions, self._encoder = other.questions_and_encoder

    @property
    def questions_and_encoder(self) -> tuple[dict[str, NDArray[np.float32]], Encoder]:
        """What `share` takes over."""
        return self._questions, self._encoder

    def drop_unused(self) -> None:
        """Drop all cached vectors except those used since this was opened, which by then include every text of the store."""
        self.cache.keep_only(self._used_keys)

    def _embed_question(self, text: str) -> NDArray[np.float32]:
        known = self._read_cached([[text]])
        if text.strip() and text not in known:
            known[text] = self._encode([text], patient=False)[0]
        return known.get(text, numpy_module().zeros(self.dimensions, "float32"))  # type: ignore[no-any-return]

    def _look_up(
        self, texts: Sequence[str], parts: Sequence[int]
    ) -> tuple[list[list[str]], dict[str, NDArray[np.float32]], list[str]]:
        """Return the slices of texts, the cached vectors by slice, and the distinct slices without one."""
        slices = [_slices(text, number) for text, number in zip(texts, parts, strict=True)]
        known = self._read_cached(slices)
        pieces = dict.fromkeys(piece for pieces in slices for piece in pieces if piece.strip())
        return slices, known, [piece for piece in pieces if piece not in known]

    def _make_vectors(self, pieces: list[str], *, patient: bool) -> dict[str, NDArray[np.float32]]:
        """Make the vectors of pieces and cache them; return them by piece."""
        rows = self._encode(pieces, patient=patient)
        packed = rows.astype("<f2")
        self.cache.keep({text_key(p): packed[i].tobytes() for i, p in enumerate(pieces)})
        return dict(zip(pieces, packed.astype("float32"), strict=True))  # as read back from the cache

    def _encode(self, pieces: list[str], *, patient: bool) -> NDArray[np.float32]:
        """Return unit rows of pieces from the encoder. Raises EmbeddingError if they have another number of dimensions."""
        rows = self._ask(pieces, patient=patient)
        if rows.shape != (len(pieces), self.dimensions):
            raise EmbeddingError(
                f"The embedding provider '{self.name}' returned vectors of {rows.shape[1]} dimensions; "
                f"those before had {self.dimensions}.",
                "The model behind this name has changed: use another embedding.model or folder.",
            )
        return units(numpy_module().nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0))

    def _read_cached(self, slices: Sequence[Sequence[str]]) -> dict[str, NDArray[np.float32]]:
        """Return the cached pieces with their vectors."""
        keys = {piece: text_key(piece) for pieces in slices for piece in pieces if piece.strip()}
        self._used_keys.update(keys.values())
        found = self.cache.found(list(dict.fromkeys(keys.values())))
        size = 2 * self.dimensions
        return {
            piece: numpy_module().frombuffer(found[key], "<f2").astype("float32")
            for piece, key in keys.items()
            if len(found.get(key, b"")) == size
        }

    def _rows(
        self, slices: Sequence[Sequence[str]], known: dict[str, NDArray[np.float32]]
    ) -> tuple[NDArray[np.float32], list[bool]]:
        """Return the rows of each text (the whole, then its slices if there are several), and whether all are known."""
        count = sum(1 if len(pieces) == 1 else len(pieces) + 1 for pieces in slices)
        rows: NDArray[np.float32] = numpy_module().zeros((count, self.dimensions), dtype="float32")
        complete = []
        at = 0
        for pieces in slices:
            is_complete = all(piece in known or not piece.strip() for piece in pieces)
            several = len(pieces) > 1
            if is_complete:
                for number, piece in enumerate(pieces, at + several):
                    rows[number] = known.get(piece, 0)
                if several:
                    rows[at] = rows[at + 1 : at + 1 + len(pieces)].sum(axis=0)
            complete.append(is_complete)
            at += len(pieces) + several
        return units(rows), complete

    def _ask_dimensions(self) -> int:
        found: int = self._ask([_PROBE], patient=False).shape[1]
        self.cache.dimensions = found
        return found

    def _ask(self, pieces: list[str], *, patient: bool) -> NDArray[np.float32]:
        """Return rows from the encoder. Raises EmbeddingError.

        For an impatient caller it is not tried again soon after it failed in any process.
        """
        until, trouble = self.cache.resting()
        if not patient and self._now_ns() < until <= self._now_ns() + REST_NS:
            raise EmbeddingUnavailableError(trouble, _LATER)
        try:
            rows = self._encoder.encode(pieces, patient=patient)
        except EmbeddingUnavailableError as error:
            self.cache.rest(self._now_ns() + REST_NS, error.message)
            raise
        if until:
            self.cache.rest(0, "")
        return rows


def _slices(text: str, parts: int) -> list[str]:
    """Cut a text into slices of about equally many characters, between words if possible."""
    if parts == 1:
        return [text]
    edges = [0]
    for part in range(1, parts):
        middle = len(text) * part // parts
        space = max(
            text.rfind(" ", middle - _MAX_SHIFT, middle), text.rfind("\n", middle - _MAX_SHIFT, middle)
        )
        edges.append(max(edges[-1], space if space >= 0 else middle))
    return [text[start:end] for start, end in zip(edges, [*edges[1:], len(text)], strict=True)]
