"""Run a sync in a thread, on a store of its own, so that nothing else waits for the network. It can be cancelled at any time."""

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
MAX_ARRIVED = 500


class CancelledError(Exception):
    """The user cancelled the sync."""


class SyncOutcome(NamedTuple):
    """The outcome of a sync: what it did (None: nothing, or a dry run), what came in, what went wrong."""

    done: Synced | None = None
    planned: Planned | None = None
    arrived: tuple[LoreChange, ...] = ()
    error: EngramError | None = None
    cancelled: bool = False


class _Progress:
    """Passes on the steps of a sync, and stops it when it is cancelled."""

    def __init__(self, store: Store, cancel: Event, report: Callable[[str], None]) -> None:
        self.before: str | None = None  # our head once local changes are committed; None until then
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
) -> SyncOutcome:
    """Sync in this thread, or with `dry_run` only find out what it would do; `progress` is called with each new step.

    Errors are in the result. `cancel` ends it at the next step or while it waits for the network.
    """
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.sync.traffic import list_incoming_changes

    try:
        store = open_store(engram.path, engram.store.caller, clock=engram.store.clock)
    except EngramError as error:
        return SyncOutcome(error=error)
    try:
        steps = _Progress(store, cancel, progress)
        outcome = _run(store, options, dry_run, steps)
        if steps.before is None or dry_run:
            return outcome
        try:
            return outcome._replace(
                arrived=tuple(list_incoming_changes(store, MAX_ARRIVED, since=steps.before))
            )
        except EngramError as error:
            return outcome._replace(error=outcome.error or error)
    finally:
        store.close()


def _run(store: Store, options: Options, dry_run: bool, steps: _Progress) -> SyncOutcome:
    from engram.usecases.sync.sync import preview, sync

    try:
        if dry_run:
            return SyncOutcome(planned=preview(store, options, steps))
        return SyncOutcome(done=sync(store, options, steps))
    except CancelledError:
        return SyncOutcome(cancelled=True)
    except EngramError as error:
        return SyncOutcome(error=error)


def progress_line(step: str) -> str:
    """Format a step as a line, with a bar if git reports a percentage."""
    found = _PERCENT.search(step)
    if found is None:
        return f"{step} …"
    full = int(found[1]) * BAR_CELLS // 100
    return f"{step}  {'▆' * full}{'▁' * (BAR_CELLS - full)}"
