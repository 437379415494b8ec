"""An OpenAI-compatible embedding endpoint: its settings, and requests for vectors in batches, with retries."""

from __future__ import annotations

from engram.adapters.embed.endpoint_call import RefusalError, post
from engram.adapters.embed.errors import EmbeddingError, EmbeddingUnavailableError
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

KEY_VARIABLE = "ENGRAM_EMBEDDING_KEY"
_BATCH = 64  # texts
_BATCH_CHARACTERS = 64_000
_LONGEST = 8_000  # characters of a text, which every endpoint accepts
_PATIENT_SECONDS = 60.0
_TRIES = 5
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_EXAMPLE = "For example: https://models.example.com/v1"


class Endpoint(NamedTuple):
    """The settings of an endpoint: the address up to `/embeddings`, the model's name there, the key ("": none).

    `dimensions` is requested unless it is 0; `timeout` is the time in seconds that a query waits.
    """

    url: str
    model: str
    key: str = ""
    dimensions: int = 0
    timeout: float = 3.0

    @property
    def identity(self) -> str:
        """The identity of the vectors; the key is not part of it."""
        return f"endpoint:{self.model}:{self.dimensions}:{self.url}"


def check_endpoint(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint with its address normalised. Raises EmbeddingError if it cannot be used safely."""
    from urllib.parse import urlsplit

    url = endpoint.url.strip().rstrip("/").removesuffix("/embeddings")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    if (
        parts.scheme not in ("http", "https")
        or not host
        or parts.query
        or parts.fragment
        or not url.isprintable()
    ):
        raise EmbeddingError(
            f"embedding.url is not the address of an endpoint: '{endpoint.url[:80]}'.", _EXAMPLE
        )
    if parts.username is not None or parts.password is not None:
        raise EmbeddingError(
            "embedding.url holds a name or a password.", f"Put the key into {KEY_VARIABLE} or embedding.key."
        )
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise EmbeddingError(
            f"embedding.url would send lore to {host} unencrypted.",
            "Use https; http is only allowed to this machine.",
        )
    if not endpoint.model.strip():
        raise EmbeddingError(
            "The embedding provider 'endpoint' has no embedding.model.", "Name the model to ask for."
        )
    return endpoint._replace(url=url, model=endpoint.model.strip(), key=_check_key(endpoint.key.strip()))


class EndpointEncoder:
    """An `Encoder` that calls an endpoint."""

    def __init__(self, endpoint: Endpoint, pause: Callable[[float], None] | None = None) -> None:
        """`pause` waits a number of seconds between two attempts (default: time.sleep)."""
        from time import sleep

        self._endpoint = endpoint
        self._pause = pause or sleep

    def encode(self, texts: Sequence[str], *, patient: bool) -> NDArray[np.float32]:
        """Return one row per text. An impatient caller gets one attempt, within the endpoint's timeout.

        Raises EmbeddingUnavailableError if the endpoint cannot be reached or refuses, EmbeddingError for an invalid
        answer.
        """
        rows: list[list[float]] = []
        for batch in _batches(texts):
            rows += (
                self._encode_with_retries(batch) if patient else self._request(batch, self._endpoint.timeout)
            )
        lengths = {len(row) for row in rows}
        if len(lengths) != 1 or 0 in lengths:
            raise self._invalid_answer("vectors of different lengths, or none")
        return numpy_module().array(rows, dtype="float32")  # type: ignore[no-any-return]

    def _encode_with_retries(self, batch: list[str]) -> list[list[float]]:
        """Return the vectors of a batch, with a longer pause after each temporary failure."""
        wait = _FIRST_PAUSE
        for tries_left in reversed(range(_TRIES)):
            try:
                return self._request(batch, _PATIENT_SECONDS)
            except RefusalError as error:
                if not tries_left or not error.passes:
                    raise
                self._pause(min(_LONGEST_PAUSE, max(wait, error.retry_after)))
                wait *= 2
        raise AssertionError  # the last try returns or raises

    def _request(self, batch: list[str], seconds: float) -> list[list[float]]:
        body: dict[str, object] = {"model": self._endpoint.model, "input": batch}
        if self._endpoint.dimensions:
            body["dimensions"] = self._endpoint.dimensions
        answer = post(f"{self._endpoint.url}/embeddings", self._endpoint.key, body, seconds)
        return self._vectors(answer, len(batch))

    def _vectors(self, answer: object, count: int) -> list[list[float]]:
        """Return the vectors of an answer in the order of the texts. Raises EmbeddingError."""
        try:
            data = answer["data"]  # type: ignore[index]
            by_index = {int(one["index"]): list(map(float, one["embedding"])) for one in data}
            found = [by_index[number] for number in range(count)]
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise self._invalid_answer("no vector for each text") from error
        wanted = self._endpoint.dimensions
        if wanted and len(found[0]) != wanted:
            raise EmbeddingError(
                f"{self._endpoint.url} returned vectors of {len(found[0])} dimensions, expected {wanted}.",
                "Set embedding.dimensions to the model's dimensions, or to 0.",
            )
        return found

    def _invalid_answer(self, what: str) -> EmbeddingUnavailableError:
        return EmbeddingUnavailableError(
            f"{self._endpoint.url} answered with {what}.",
            "Is it an OpenAI-compatible endpoint (embedding.url)?",
        )


def _batches(texts: Sequence[str]) -> list[list[str]]:
    """Return the texts in order, truncated, in batches of limited number and length."""
    batches: list[list[str]] = [[]]
    length = 0
    for text in texts:
        piece = text.encode("utf-8", "replace").decode("utf-8")[:_LONGEST]
        if batches[-1] and (len(batches[-1]) == _BATCH or length + len(piece) > _BATCH_CHARACTERS):
            batches.append([])
            length = 0
        batches[-1].append(piece)
        length += len(piece)
    return batches


def _check_key(key: str) -> str:
    """Return the key if a header can hold it. Raises EmbeddingError."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise EmbeddingError(
            "The key of the embedding endpoint contains characters that a key cannot have.",
            f"Check {KEY_VARIABLE} or embedding.key.",
        )
    return key
