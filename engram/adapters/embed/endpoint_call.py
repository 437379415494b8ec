"""A request to an endpoint, with a deadline for the whole answer, and to the configured address only."""

from __future__ import annotations

import contextlib
import json
import time
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from engram.adapters.embed.errors import EmbeddingUnavailableError
from engram.version import __version__

if TYPE_CHECKING:
    from typing import Any

_LARGEST_ANSWER = 64 << 20
_BLOCK = 1 << 16
_TEMPORARY = (408, 409, 425, 429, 500, 502, 503, 504, 529)
_MAX_REASON = 200


class RefusalError(EmbeddingUnavailableError):
    """The endpoint could not be reached, or refused. `passes`: a retry may work, after `retry_after` seconds."""

    def __init__(self, message: str, hint: str, *, passes: bool, retry_after: float = 0.0) -> None:
        super().__init__(message, hint)
        self.passes = passes
        self.retry_after = retry_after


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, so that lore and key go only to the configured address."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, so that the redirect becomes an error with its status."""


def post(url: str, key: str, body: dict[str, object], seconds: float) -> object:
    """Post a JSON document and return the endpoint's answer, within `seconds` in all. Raises RefusalError."""
    deadline = time.monotonic() + seconds
    request = Request(url, json.dumps(body).encode(), _headers(key), method="POST")  # noqa: S310 - checked: http or https
    try:
        with build_opener(_NoRedirects).open(request, timeout=seconds) as answer:
            return json.loads(_read(answer, deadline))
    except HTTPError as error:
        with error:
            raise _status_error(url, error, key) from None
    except (URLError, OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise _unreachable_error(url, str(reason) or type(reason).__name__) from None
    except (ValueError, RecursionError):
        raise RefusalError(
            f"{url} did not answer with JSON.",
            "Is it an OpenAI-compatible endpoint (embedding.url)?",
            passes=False,
        ) from None


def _headers(key: str) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": f"engram/{__version__}",
    }
    return {**headers, "Authorization": f"Bearer {key}"} if key else headers


def _read(answer: Any, deadline: float) -> bytes:
    """Read the whole answer. Raises TimeoutError past the deadline, OSError for an endless answer."""
    parts: list[bytes] = []
    size = 0
    while part := answer.read1(_BLOCK):
        parts.append(part)
        size += len(part)
        if size > _LARGEST_ANSWER:
            raise OSError(f"it answers with more than {_LARGEST_ANSWER >> 20} MiB")
        if time.monotonic() > deadline:
            raise TimeoutError("it took too long to answer")
    return b"".join(parts)


def _unreachable_error(url: str, why: str) -> RefusalError:
    return RefusalError(
        f"The embedding endpoint {url} cannot be reached: {why[:_MAX_REASON]}.",
        "Engram tries again later; `engram reindex` tries now.",
        passes=True,
    )


def _status_error(url: str, error: HTTPError, key: str) -> RefusalError:
    """Return the error for an HTTP status, with the endpoint's message if it is readable, and never the key."""
    reason = ""
    with contextlib.suppress(Exception):
        text = error.read1(_BLOCK).decode("utf-8", "replace")
        with contextlib.suppress(ValueError, KeyError, TypeError):
            text = json.loads(text)["error"]["message"]
        reason = " ".join(text.split())[:_MAX_REASON]
    if key:
        reason = reason.replace(key, "…")
    detail = f" ({reason})" if reason.isprintable() and reason else ""
    passes = error.code in _TEMPORARY
    hint = {
        401: "Look at the key: ENGRAM_EMBEDDING_KEY or embedding.key.",
        403: "Look at the key: ENGRAM_EMBEDDING_KEY or embedding.key.",
        404: "Look at embedding.url and embedding.model.",
    }.get(error.code, "It is tried again in a while." if passes else "Look at the settings embedding.*.")
    return RefusalError(
        f"The embedding endpoint {url} answered {error.code}{detail}.",
        hint,
        passes=passes,
        retry_after=_retry_after(error),
    )


def _retry_after(error: HTTPError) -> float:
    """Return the seconds in a Retry-After header; 0 without one (or with a date)."""
    try:
        return max(0.0, float(error.headers.get("Retry-After", "0")))
    except (ValueError, TypeError):
        return 0.0
