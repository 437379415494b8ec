"""Similarity of passages to a question, by a cheap model: the one that found the answer, or its substitute."""

from __future__ import annotations

from engram.adapters.embed.errors import EmbeddingError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.recall.budget import Nearness
    from engram.usecases.store.store import Store


def nearness(store: Store, question: str) -> Nearness | None:
    """Return a function from texts to their cosines with a question; None without a model, and for a slow one."""
    embedder = store.embedder
    model = embedder.immediate if embedder is not None else None
    if model is None:
        return None

    def near(texts: Sequence[str]) -> list[float]:
        try:
            return model.similarities(question, texts)
        except EmbeddingError:
            return [0.0] * len(texts)

    return near
