"""Read the state of the store for the heading, and notice changes by others. Called from worker threads."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from engram.adapters.index.damage import DamagedIndexError, converting_damage
from engram.domain.entry import times
from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from engram.adapters.index.index import Generation
    from engram.app import Engram

_sums: WeakKeyDictionary[Engram, tuple[tuple[object, ...], int]] = WeakKeyDictionary()


class Heading(NamedTuple):
    """The state of the store; `branch` is empty outside git, `error` says what is wrong.

    `waiting` counts the items that wait for a person. `synced` describes automatic sync, if it is on.
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
    """Read the place and state of the store, as far as they are found quickly."""
    status = store.status(thorough=False)
    git, index, review = status["git"], status["index"], status["review"]
    assert isinstance(git, dict)
    assert isinstance(index, dict)
    assert isinstance(review, dict)
    total = status["lore_count"]
    assert isinstance(total, int)
    return Heading(
        path=abbreviate_home(store.path),
        branch=git["branch"] or "",
        ahead=git["ahead"],
        behind=git["behind"],
        total=total,
        strategy=str(index.get("strategy", "")),
        waiting=review["waiting"],
        error="" if index["ok"] else str(index["message"]),
        synced=_describe_sync(git),
    )


def _describe_sync(git: dict[str, Any]) -> str:
    """Describe automatic sync: when it last succeeded, and whether it fails now or has changes to send; "" if it is off."""
    last, auto = git["sync"], git["auto"]
    if not auto or not auto["on"] or not last["succeeded"]:
        return ""
    when = times.parse(last["succeeded"]).astimezone()
    is_today = when.date() == datetime.now().astimezone().date()
    text = f"synced {when:%H:%M}" if is_today else f"synced {when:%Y-%m-%d}"
    return text + (", sync fails" if last["error"] else ", not all sent" if auto["waiting_since"] else "")


def change_token(store: Engram) -> tuple[object, ...]:
    """Return a value that changes with what the index knows of the files, and once it has vectors.

    It stays the same if the index only records that a sweep looked at all files.
    """
    generation = store.store.index.generation
    if generation is None:
        return ()
    stats = _stat_catalog(generation)
    if _sums.get(store, ((), 0))[0] != stats:
        try:
            with converting_damage():
                _sums[store] = stats, generation.catalog.sum_of_lines()
        except DamagedIndexError:
            return stats  # the next query rebuilds it
    return generation.folder, _sums[store][1], bool(generation.waiting)


def _stat_catalog(generation: Generation) -> tuple[object, ...]:
    """Return the times and sizes of the catalog's files; while they stay the same, so does its content."""
    found: list[object] = [generation.folder]
    for name in ("catalog.db", "catalog.db-wal"):
        try:
            stat = os.stat(os.path.join(generation.folder, name))
            found += [stat.st_mtime_ns, stat.st_size]
        except OSError:
            found.append(None)
    return tuple(found)


def poll_changes(store: Engram) -> tuple[object, ...]:
    """Check for changes by others as cheaply as a query does; returns the token."""
    if not store.store.asked_ns:
        store.store.asked_ns = 1  # from the second question on, the system reports changes
    refresh(store.store, thorough=False)
    return change_token(store)


def abbreviate_home(path: str) -> str:
    """Abbreviate the home folder to `~`."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path
