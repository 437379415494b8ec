"""The one error of the embedding providers."""

from __future__ import annotations

from engram.domain.errors import EngramError


class EmbeddingError(EngramError):
    """A model cannot be read, so nothing can be embedded; search by words goes on without it."""

    code = "embedding"
