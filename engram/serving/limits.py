"""The limits of a server."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """The limits of a server."""

    rate: int = 1200  # requests per minute of each client with the token; 0: no limit
    anonymous_rate: int = 240  # requests per minute of each address without it
    head_seconds: float = 10.0  # from the first byte of a request to its token or the end of its answer
    body_seconds: float = 60.0  # for the body of a request with the token
    waiting: int = 512  # connections without the token
