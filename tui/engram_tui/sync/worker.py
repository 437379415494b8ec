"""Running a sync beside the app: on a store of its own, so that nobody waits for the network, and to be ended at any moment."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from engram.domain.errors import EngramError

if TYPE_CHECKING:
    from threading import Event

    from engram.app import Engram
    from engram.usecases.store.store import Store
    from engram.usecases.sync.sync import Options, Planned, Synced
    from engram.usecases.sync.traffic import LoreChange

_PERCENT = re.compile(r"(\d+) %$")
SLOTS = 12
MOST_ARRIVED = 500


class CancelledError(Exception):
    """The person ended it."""


class Ended(NamedTuple):
    """How a sync ended: what it did (None: nothing, or it was not to do anything), what came in, what went wrong."""

    done: Synced | None = None
    planned: Planned | None = None
    arrived: tuple[LoreChange, ...] = ()
    error: EngramError | None = None
    cancelled: bool = False


class _Ear:
    """What hears of the steps of a sync, and ends it when it is to be ended."""

    def __init__(self, store: Store, cancel: Event, hear: Callable[[str], None]) -> None:
        self.before: str | None = None  # our head when what waited was committed; None before that
        self._store, self._cancel, self._hear = store, cancel, hear
        self._heard = ""

    def __call__(self, what: str) -> None:
        from engram.adapters.git.run.layout import read_head

        if self._cancel.is_set():
            raise CancelledError
        if self.before is None and self._store.places.repository is not None:
            self.before = read_head(self._store.places.repository).oid or ""
        if what != self._heard:
            self._heard = what
            self._hear(what)


def run_sync(
    engram: Engram, options: Options, *, dry_run: bool, cancel: Event, hear: Callable[[str], None]
) -> Ended:
    """Sync in this thread, or only look with `dry_run`; `hear` is told each new step.

    Trouble is in the answer. `cancel` ends it at the next step or while the network is waited for.
    """
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.sync.traffic import came_in

    try:
        store = open_store(engram.path, engram.store.caller, clock=engram.store.clock)
    except EngramError as error:
        return Ended(error=error)
    try:
        ear = _Ear(store, cancel, hear)
        ended = _ended(store, options, dry_run, ear)
        if ear.before is None or dry_run:
            return ended
        try:
            return ended._replace(arrived=tuple(came_in(store, MOST_ARRIVED, since=ear.before)))
        except EngramError as error:
            return ended._replace(error=ended.error or error)
    finally:
        store.close()


def _ended(store: Store, options: Options, dry_run: bool, ear: _Ear) -> Ended:
    from engram.usecases.sync.sync import preview, sync

    try:
        if dry_run:
            return Ended(planned=preview(store, options, ear))
        return Ended(done=sync(store, options, ear))
    except CancelledError:
        return Ended(cancelled=True)
    except EngramError as error:
        return Ended(error=error)


def progress_line(what: str) -> str:
    """A step as a line with a bar, where git tells how far it is."""
    found = _PERCENT.search(what)
    if found is None:
        return f"{what} …"
    full = int(found[1]) * SLOTS // 100
    return f"{what}  {'▆' * full}{'▁' * (SLOTS - full)}"
