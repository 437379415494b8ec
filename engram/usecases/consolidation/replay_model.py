"""An embedding model as a rehearsal asks it: the vector of each question is found once."""

from __future__ import annotations

from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy

    from engram.adapters.embed.protocols import Embedder


class RehearsedModel:
    """An `Embedder` that remembers the vectors of questions; everything else goes to the model itself."""

    def __init__(self, model: Embedder) -> None:
        """Nothing is asked yet."""
        self.model = model
        self._vectors: dict[str, numpy.ndarray] = {}

    def __getattr__(self, name: str) -> Any:
        """Whatever else a model can do, and what it is."""
        return getattr(self.model, name)

    def embed(self, texts: Sequence[str]) -> numpy.ndarray:
        """As `Embedder.embed`."""
        known = self._vectors
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, self.model.embed(new), strict=True))
        found: numpy.ndarray = numpy_module().array([known[text] for text in texts])
        return found

    def embed_one(self, text: str) -> numpy.ndarray:
        """As `Embedder.embed_one`."""
        found = self._vectors.get(text)
        if found is None:
            found = self._vectors[text] = self.model.embed_one(text)
        return found
