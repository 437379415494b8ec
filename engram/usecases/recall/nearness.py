"""How near passages come to a question, by the model that the answer was found with, where that costs little."""

from __future__ import annotations

from engram.adapters.embed.errors import EmbeddingError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.recall.budget import Nearness
    from engram.usecases.store.store import Store


def nearness(store: Store, question: str) -> Nearness | None:
    """Return a function from texts to their cosines with a question; None without a model, and for a slow one."""
    model = store.embedder
    if model is None or model.costly:
        return None

    def near(texts: Sequence[str]) -> list[float]:
        try:
            return model.similarities(question, texts)
        except EmbeddingError:
            return [0.0] * len(texts)

    return near
