"""The embedding model of a store: opened when first needed, set aside while it gives no vectors, changed with the settings."""

from __future__ import annotations

import os

from engram.adapters.embed.errors import EmbeddingError, EmbeddingUnavailableError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.adapters.embed.endpoint import Endpoint
    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.index import Generation
    from engram.domain.settings import Settings

KEYS = tuple(
    [f"embedding.{name}" for name in ("provider", "path", "url", "model", "dimensions", "timeout", "key")]
)
ASIDE_NS = 30_000_000_000
READY = 0.9  # of all texts have a vector: from then on a question is answered by meaning too


class Meaning:
    """What turns texts into vectors for one store, as far as it can be asked."""

    def __init__(self, state: str, now_ns: Callable[[], int]) -> None:
        """`state` is the store's state folder, where vectors are kept that were costly to make."""
        self._state = state
        self._now_ns = now_ns
        self._model: Embedder | None = None
        self._settings: Settings | None = None
        self._opened_with: tuple[object, ...] | None = None
        self._aside_until = 0
        self._broken = False
        self._trouble = ""

    def model(self, settings: Settings) -> Embedder | None:
        """Return the provider that the settings name, also while it gives no vectors; None where it cannot be opened."""
        again = self._model is None and 0 < self._aside_until <= self._now_ns()
        if settings is self._settings and not again:  # they are replaced, never changed
            return None if self._broken else self._model
        self._settings = settings
        wanted = tuple([settings.get(key) for key in KEYS])
        if wanted != self._opened_with or again:
            self._opened_with, self._model, self._broken, self._trouble, self._aside_until = (
                wanted,
                None,
                False,
                "",
                0,
            )
            try:
                self._model = _opened(settings, self._state, self._now_ns)
            except EmbeddingError as error:
                self.give_up(error)
        return None if self._broken else self._model

    def borrow(self, other: Meaning, settings: Settings) -> None:
        """Use the model that another store has loaded; where vectors are kept for each store, only ask together."""
        model = other.model(settings)
        if self._opened_with is not None or model is None:
            return
        if not model.costly:
            self._model, self._opened_with = model, tuple([settings.get(key) for key in KEYS])
        elif (mine := self.model(settings)) is not None:
            mine.share(model)

    def give_up(self, error: EmbeddingError) -> bool:
        """Go on without the model: for a while if it may come back (False), else for good (True)."""
        self._trouble = f"words only: {error.message} {error.hint}".strip()
        if isinstance(error, EmbeddingUnavailableError):
            self._aside_until = self._now_ns() + ASIDE_NS
            return False
        self._broken = True
        return True

    @property
    def is_aside(self) -> bool:
        """Whether the model failed just now and is not asked."""
        return self._now_ns() < self._aside_until

    def usable(self, model: Embedder | None, generation: Generation | None) -> Embedder | None:
        """Return the model, if it can be asked now and the index has vectors of it."""
        if model is None or self.is_aside:
            return None
        return None if generation is not None and lacks_vectors(generation) else model

    def notes(self, generation: Generation | None) -> list[str]:
        """Return why there is no search by meaning now; nothing where there is, or none is wanted."""
        if self._trouble and (self._broken or self._model is None or self.is_aside):
            return [self._trouble]
        if generation is not None and lacks_vectors(generation) and self.progress(generation):
            return [f"words only: {self.progress(generation)}"]
        return []

    def progress(self, generation: Generation | None) -> str:
        """Return what is still to be made of the index's vectors, in a sentence; "" where nothing is, or no model is in use."""
        if generation is None or self._model is None or self._broken:
            return ""
        if generation.other_model:
            return "the index is of another embedding model and is made anew in the background (now: `engram reindex`)"
        if not generation.waiting:
            return ""
        alive = generation.next_row - generation.dead
        return (
            f"{generation.waiting:,} of {alive:,} entries have no vector yet;"
            " they are made in the background (now: `engram reindex`)"
        )


def lacks_vectors(generation: Generation) -> bool:
    """Return whether the index has too few vectors of the model in use to be asked by meaning."""
    alive = generation.next_row - generation.dead
    return generation.other_model or generation.waiting > (1 - READY) * alive


def _opened(settings: Settings, state: str, now_ns: Callable[[], int]) -> Embedder | None:
    from engram.adapters.embed.provider import open_embedder

    provider = settings.text("embedding.provider")
    endpoint = _endpoint(settings) if provider == "endpoint" else None
    return open_embedder(provider, settings.text("embedding.path") or None, endpoint, state, now_ns)


def _endpoint(settings: Settings) -> Endpoint:
    """Return what the settings say of the endpoint; the key from the environment counts before that of the file."""
    from engram.adapters.embed.endpoint import KEY_VARIABLE, Endpoint

    return Endpoint(
        settings.text("embedding.url"),
        settings.text("embedding.model"),
        os.environ.get(KEY_VARIABLE, "") or settings.text("embedding.key"),
        int(settings.number("embedding.dimensions")),
        settings.number("embedding.timeout"),
    )
