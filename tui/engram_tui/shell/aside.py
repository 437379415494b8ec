"""A handle of its own for what takes seconds in a large store, so that the screens need not wait for the store's lock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.app import Engram


@contextmanager
def own_handle(store: Engram) -> Iterator[Engram]:
    """The same store opened once more, for reading in one thread."""
    from engram.app import Engram
    from engram.usecases.opening.open_store import open_store

    own = open_store(store.path, store.store.caller, clock=store.store.clock)
    with Engram(own, background=False) as opened:
        yield opened
