"""Running a sync in a thread, on a store of its own, so that nobody waits for the network; it can be cancelled at any time."""

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
BAR_CELLS = 12
MOST_ARRIVED = 500


class CancelledError(Exception):
    """The user cancelled the sync."""


class Ended(NamedTuple):
    """How a sync ended: what it did (None: nothing, or a dry run), what came in, what went wrong."""

    done: Synced | None = None
    planned: Planned | None = None
    arrived: tuple[LoreChange, ...] = ()
    error: EngramError | None = None
    cancelled: bool = False


class _Progress:
    """Passes on the steps of a sync, and stops it when it is cancelled."""

    def __init__(self, store: Store, cancel: Event, report: Callable[[str], None]) -> None:
        self.before: str | None = None  # our head once local changes are committed; None before that
        self._store, self._cancel, self._report = store, cancel, report
        self._last = ""

    def __call__(self, step: str) -> None:
        from engram.adapters.git.run.layout import read_head

        if self._cancel.is_set():
            raise CancelledError
        if self.before is None and self._store.places.repository is not None:
            self.before = read_head(self._store.places.repository).oid or ""
        if step != self._last:
            self._last = step
            self._report(step)


def run_sync(
    engram: Engram, options: Options, *, dry_run: bool, cancel: Event, progress: Callable[[str], None]
) -> Ended:
    """Sync in this thread, or only look with `dry_run`; `progress` is called with each new step.

    Errors are in the result. `cancel` ends it at the next step or while it waits for the network.
    """
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.sync.traffic import came_in

    try:
        store = open_store(engram.path, engram.store.caller, clock=engram.store.clock)
    except EngramError as error:
        return Ended(error=error)
    try:
        steps = _Progress(store, cancel, progress)
        ended = _run(store, options, dry_run, steps)
        if steps.before is None or dry_run:
            return ended
        try:
            return ended._replace(arrived=tuple(came_in(store, MOST_ARRIVED, since=steps.before)))
        except EngramError as error:
            return ended._replace(error=ended.error or error)
    finally:
        store.close()


def _run(store: Store, options: Options, dry_run: bool, steps: _Progress) -> Ended:
    from engram.usecases.sync.sync import preview, sync

    try:
        if dry_run:
            return Ended(planned=preview(store, options, steps))
        return Ended(done=sync(store, options, steps))
    except CancelledError:
        return Ended(cancelled=True)
    except EngramError as error:
        return Ended(error=error)


def progress_line(step: str) -> str:
    """Format a step as a line, with a bar where git reports a percentage."""
    found = _PERCENT.search(step)
    if found is None:
        return f"{step} …"
    full = int(found[1]) * BAR_CELLS // 100
    return f"{step}  {'▆' * full}{'▁' * (BAR_CELLS - full)}"
