"""Queries of the index; a damaged index is rebuilt first."""

from __future__ import annotations

from engram.adapters.files.durable.atomic import digest
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError, converting_damage
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

    T = TypeVar("T")


def query_index(store: Store, ask: Callable[[Generation], T], *, thorough: bool = False) -> T:
    """Bring the index up to date as `refresh` does, then return the result of `ask`.

    Raises StoreError if no index can be built, and whatever `ask` raises.
    """
    try:
        return _query(store, ask, thorough)
    except DamagedIndexError as error:
        store.index.mark_damaged(str(error))
        return _query(store, ask, thorough)


def query_without_refresh(store: Store, ask: Callable[[Generation], list[T]]) -> list[T]:
    """Return the result of `ask` for the index as it is; empty if there is none or it is damaged. The next query rebuilds it."""
    generation = store.index.look()
    try:
        with converting_damage():
            return ask(generation) if generation is not None else []
    except DamagedIndexError as error:
        store.index.mark_damaged(str(error))
        return []


def _query(store: Store, ask: Callable[[Generation], T], thorough: bool) -> T:
    try:
        refresh(store, thorough=thorough)
    except IndexUnavailableError:
        if not _has_every_file(store):
            raise
    generation = store.index.look()
    if generation is None:
        raise StoreError("The index cannot be built.", "Run `engram doctor`.")
    with converting_damage():
        return ask(generation)


def _has_every_file(store: Store) -> bool:
    """Whether the index, although it cannot be written, has all files in their current state."""
    from engram.usecases.index.file_scan import sweep

    generation = store.index.look()
    if generation is None:
        return False
    found = sweep(store, generation, store.clock.nanoseconds())
    if found.gone:
        return False
    files = {path: store.files.read_if_possible(path) for path in found.files}
    return all(
        raw is not None and path in found.known and digest(raw) == found.known[path].digest
        for path, raw in files.items()
    )
