"""What changed since a moment, for programs that keep a copy of a store: lore that are new or different, and ids that went.

It goes by when this clone saw a change, not by when somebody made it: what a sync brings in may be old.
"""

from __future__ import annotations

from engram.domain.errors import EngramError, UsageError
from engram.domain.times import whole_seconds
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases import change
from engram.usecases.consult import consult
from engram.usecases.held import without_held
from engram.usecases.listing import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.generation import Generation
    from engram.usecases.store import Store

_OVERLAP_SECONDS = 2.0  # file systems' clocks are coarse: rather something twice than never
_BATCH = 200


class Delta(NamedTuple):
    """Lore that changed, oldest first, ids that went, and the moment to ask with next time."""

    lore: tuple[Shown, ...]
    deleted_ids: tuple[str, ...]
    as_of: datetime


def delta(store: Store, since: datetime) -> Delta:
    """What changed here since `since`; held lore are left out. Raises UsageError, StoreError."""
    as_of = whole_seconds(store.clock.now())
    moment = max(0.0, since.timestamp() - _OVERLAP_SECONDS)
    if moment > as_of.timestamp():
        raise UsageError("'since' lies in the future.", "Send the `as_of` of the answer before.")

    def ask(generation: Generation) -> tuple[list[Hit], set[str]]:
        where = "mtime_ns >= ? OR updated_at >= ?"
        found = generation.catalog.select(where, (int(moment * 1e9), moment), "ORDER BY updated_at, id")
        gone = store.state.gone.since(moment)
        return found, set(gone) - generation.catalog.present(gone)

    with store.lock:
        hits, gone = consult(store, ask, thorough=True)
        return Delta(tuple(_read(store, without_held(store, hits))), tuple(sorted(gone)), as_of)


def snapshot(store: Store) -> Iterator[list[Shown]]:
    """Every lore that does not wait, oldest first, some hundred at a time; no lock is held in between."""
    with store.lock:
        hits = consult(
            store, lambda generation: generation.catalog.select("1", (), "ORDER BY id"), thorough=True
        )
        hits = without_held(store, hits)
    for start in range(0, len(hits), _BATCH):
        with store.lock:
            yield list(_read(store, hits[start : start + _BATCH]))


def _read(store: Store, hits: Sequence[Hit]) -> Iterator[Shown]:
    for hit in hits:
        try:
            yield Shown(change.load(store, hit.path).lore, hit.path, "", store.places.scope)
        except EngramError:  # gone or broken meanwhile: the next delta says so
            continue
