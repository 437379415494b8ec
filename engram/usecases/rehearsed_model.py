"""An embedding model as a rehearsal asks it: the vector of a question, and how near texts come to it, are found once."""

from __future__ import annotations

from engram.adapters.index.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy

    from engram.adapters.embed.late import Nearness
    from engram.adapters.embed.protocols import Embedder

_Question = tuple[tuple[str, ...], tuple[float, ...]]


class RehearsedModel:
    """An `Embedder` that remembers what it answered about questions; everything else goes to the model itself."""

    def __init__(self, model: Embedder) -> None:
        """Nothing is asked yet."""
        self.model = model
        self._vectors: dict[str, numpy.ndarray] = {}
        self._near: dict[_Question, tuple[dict[bytes, int], Nearness]] = {}

    def __getattr__(self, name: str) -> Any:
        """Whatever else a model can do, and what it is."""
        return getattr(self.model, name)

    def embed(self, texts: Sequence[str]) -> numpy.ndarray:
        """As `Embedder.embed`."""
        found: numpy.ndarray = self.model.embed(texts)
        self._vectors.update(zip(texts, found, strict=True))
        return found

    def embed_one(self, text: str) -> numpy.ndarray:
        """As `Embedder.embed_one`."""
        found = self._vectors.get(text)
        if found is None:
            found = self._vectors[text] = self.model.embed_one(text)
        return found

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> Nearness | None:
        """As `Embedder.nearness`; of a question asked before only texts that are new to it are looked at."""
        question = tuple(words), tuple(weights)
        places, known = self._near.get(question, ({}, None))
        new = [text for text in dict.fromkeys(texts) if text not in places]
        if new or known is None:
            found = self.model.nearness(words, weights, new)
            if found is None:
                return None
            known = found if known is None else _joined(known, found)
            places = places | {text: place for place, text in enumerate(new, len(places))}
            self._near[question] = places, known
        at = [places[text] for text in texts]
        return known._replace(nearest=known.nearest.take(at, axis=2), lengths=known.lengths.take(at))


def _joined(one: Nearness, other: Nearness) -> Nearness:
    """The same question's nearness to the texts of both."""
    np = numpy_module()
    return one._replace(
        nearest=np.concatenate([one.nearest, other.nearest], axis=2),
        lengths=np.concatenate([one.lengths, other.lengths]),
    )
