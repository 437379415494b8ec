"""The errors of the embedding providers."""

from __future__ import annotations

from engram.domain.errors import EngramError


class EmbeddingError(EngramError):
    """A model cannot be read, so nothing can be embedded; search by words goes on without it."""

    code = "embedding"


class EmbeddingUnavailableError(EmbeddingError):
    """A provider gives no vectors at the moment; those that were made before stay good, and it is asked again later."""
