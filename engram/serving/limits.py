"""What a server takes from its clients."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """What a server takes from its clients."""

    rate: int = 1200  # requests a minute of each client with the token; 0: any number
    anonymous_rate: int = 240  # requests a minute from each address without it
    head_seconds: float = (
        10.0  # from the first byte of a request until it has shown the token or was answered
    )
    body_seconds: float = 60.0  # for the body of a request with the token
    waiting: int = 512  # connections that have not shown the token
