"""Queries of the index; a damaged index is rebuilt first."""

from __future__ import annotations

from engram.adapters.files.durable.atomic import digest
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError, damage_noticed
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

    T = TypeVar("T")


def consult(store: Store, ask: Callable[[Generation], T], *, thorough: bool = False) -> T:
    """Return what `ask` finds in the index, which is brought up to date first, as by `refresh`.

    Raises StoreError if there can be no index, and whatever `ask` raises.
    """
    try:
        return _ask(store, ask, thorough)
    except DamagedIndexError as error:
        store.index.mark_damaged(str(error))
        return _ask(store, ask, thorough)


def look_up(store: Store, ask: Callable[[Generation], list[T]]) -> list[T]:
    """Return what `ask` finds in the index as it is now; nothing where there is none, or a damaged one, which is then rebuilt."""
    generation = store.index.look()
    try:
        with damage_noticed():
            return ask(generation) if generation is not None else []
    except DamagedIndexError as error:
        store.index.mark_damaged(str(error))
        return []


def _ask(store: Store, ask: Callable[[Generation], T], thorough: bool) -> T:
    try:
        refresh(store, thorough=thorough)
    except IndexUnavailableError:
        if not _has_every_file(store):
            raise
    generation = store.index.look()
    if generation is None:
        raise StoreError("The index cannot be built.", "Run `engram doctor`.")
    with damage_noticed():
        return ask(generation)


def _has_every_file(store: Store) -> bool:
    """Tell whether the index, although it cannot be written, has all files as they are now."""
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
