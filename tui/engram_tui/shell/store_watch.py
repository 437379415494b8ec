"""What the status line says about the store, and whether somebody else changed it. Called from worker threads."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from engram.adapters.index.damage import DamagedIndexError, damage_noticed
from engram.domain.entry import times
from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from engram.adapters.index.index import Generation
    from engram.app import Engram

_sums: WeakKeyDictionary[Engram, tuple[tuple[object, ...], int]] = WeakKeyDictionary()


class Heading(NamedTuple):
    """The state of the store; `branch` is empty outside git, `error` says what is wrong.

    `waiting` counts what waits for a person. `synced` says how a store that syncs by itself stands with its remote.
    """

    path: str
    branch: str
    ahead: int
    behind: int
    total: int
    strategy: str
    waiting: int
    error: str = ""
    synced: str = ""


def read_heading(store: Engram) -> Heading:
    """Read where the store is and how it is doing, as far as that is found quickly."""
    status = store.status(thorough=False)
    git, index, review = status["git"], status["index"], status["review"]
    assert isinstance(git, dict)
    assert isinstance(index, dict)
    assert isinstance(review, dict)
    error = "" if index["ok"] else str(index["message"])
    total = status["lore_count"]
    assert isinstance(total, int)
    strategy = str(index.get("strategy", ""))
    return Heading(
        short_path(store.path),
        git["branch"] or "",
        git["ahead"],
        git["behind"],
        total,
        strategy,
        review["waiting"],
        error,
        _describe_sync(git),
    )


def _describe_sync(git: dict[str, Any]) -> str:
    """Say when a store that syncs by itself last did, that something waits to be sent, and whether the last try failed."""
    last, auto = git["sync"], git["auto"]
    if not auto or not auto["on"] or not last["succeeded"]:
        return ""
    when = times.parse(last["succeeded"]).astimezone()
    is_today = when.date() == datetime.now().astimezone().date()
    text = f"synced {when:%H:%M}" if is_today else f"synced {when:%Y-%m-%d}"
    return text + (", sync fails" if last["error"] else ", not all sent" if auto["waiting_since"] else "")


def change_token(store: Engram) -> tuple[object, ...]:
    """Return a value that differs after each change of what the index knows of files, and once it has vectors.

    That a sweep looked at all files is written into the index, too, and is no change.
    """
    generation = store.store.index.generation
    if generation is None:
        return ()
    stats = _stats(generation)
    if _sums.get(store, ((), 0))[0] != stats:
        try:
            with damage_noticed():
                _sums[store] = stats, generation.catalog.sum_of_lines()
        except DamagedIndexError:
            return stats  # the next query builds it anew
    return generation.folder, _sums[store][1], bool(generation.waiting)


def _stats(generation: Generation) -> tuple[object, ...]:
    """Return the times and sizes of the catalog's files: while they are the same, so is all that is in it."""
    found: list[object] = [generation.folder]
    for name in ("catalog.db", "catalog.db-wal"):
        try:
            stat = os.stat(os.path.join(generation.folder, name))
            found += [stat.st_mtime_ns, stat.st_size]
        except OSError:
            found.append(None)
    return tuple(found)


def poll_changes(store: Engram) -> tuple[object, ...]:
    """Look for changes of others as cheaply as a query does; returns the token."""
    if not store.store.asked_ns:
        store.store.asked_ns = 1  # from the second question on the system reports changes
    refresh(store.store, thorough=False)
    return change_token(store)


def short_path(path: str) -> str:
    """Abbreviate the home folder to `~`."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path
