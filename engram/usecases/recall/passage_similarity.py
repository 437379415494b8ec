"""Similarity of passages to a question, by a fast model: the one that found the answer, or its substitute."""

from __future__ import annotations

from engram.adapters.embed.errors import EmbeddingError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.recall.budget import Nearness
    from engram.usecases.store.store import Store


def nearness(store: Store, question: str) -> Nearness | None:
    """Return a function from texts to their cosines with a question; None without a model that is fast enough.

    It caches the result of each text, since fitting a budget may select passages of an entry several times.
    """
    embedder = store.embedder
    model = embedder.immediate if embedder is not None else None
    if model is None:
        return None
    known: dict[str, float] = {}

    def near(texts: Sequence[str]) -> list[float]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        try:
            known.update(zip(new, model.similarities(question, new) if new else (), strict=True))
        except EmbeddingError:
            return [0.0] * len(texts)
        return [known[text] for text in texts]

    return near
