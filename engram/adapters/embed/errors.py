"""The errors of the embedding providers."""

from __future__ import annotations

from engram.domain.errors import EngramError


class EmbeddingError(EngramError):
    """A model cannot be read, so nothing can be embedded; search by words still works."""

    code = "embedding"


class EmbeddingUnavailableError(EmbeddingError):
    """A provider is temporarily unavailable; existing vectors stay valid, and it is retried later."""
