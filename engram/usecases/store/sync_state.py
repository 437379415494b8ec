"""State of syncs, kept in the state folder: the last result, unsent changes, watermarks."""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.files.durable import atomic
from engram.domain.entry import times
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store

_LAST_SYNC = "last-sync.json"
DRAFT = "sync"
_NEVER: dict[str, object] = {"at": None, "remote": "", "error": None, "succeeded": None, "failures": 0}


def remember(store: Store, remote: str, error: EngramError | None) -> None:
    """Store the result of a sync; ignore a state folder that cannot be written."""
    now = times.render(times.whole_seconds(store.clock.now()))
    try:
        with store.files.lock():
            before = last(store)
            facts = {
                "at": now,
                "remote": remote,
                "error": None if error is None else error.as_dict(),
                "succeeded": now if error is None else before["succeeded"],
                "failures": 0 if error is None else int(str(before["failures"])) + 1,
            }
            replace(
                os.path.join(store.places.state, _LAST_SYNC), json.dumps(facts, ensure_ascii=False).encode()
            )
    except EngramError:
        return


def distance(store: Store) -> tuple[int, int]:
    """Return how many commits this clone is ahead of and behind the remote as last fetched; 0 if unknown."""
    from engram.adapters.git.remote import remotes
    from engram.adapters.git.run import layout
    from engram.adapters.git.write import merge_commit

    places = store.places
    if places.repository is None or not places.owns_branch:
        return 0, 0
    try:
        head = layout.read_head(places.repository)
        theirs = remotes.tracked_commit(
            places.repository, remotes.counterpart(places.repository, head.branch or "")
        )
        if head.oid is None or theirs is None or head.oid == theirs:
            return 0, 0
        return merge_commit.count_between(places.repository, head.oid, theirs)
    except EngramError:
        return 0, 0


def remote_names(store: Store) -> list[str]:
    """Return the names of the store's remotes; none if git fails."""
    from engram.usecases.store.remote import list_remotes

    try:
        return [remote.name for remote in list_remotes(store)]
    except EngramError:
        return []


def replace(path: str, content: bytes, mode: int = 0o600) -> None:
    """Replace a file that is only written under a lock, and what a killed writer left of it. Raises StoreError."""
    discard_draft(path)
    atomic.move_into_place(atomic.prepare(path, content, DRAFT, mode), path)


def discard_draft(path: str) -> None:
    """Delete the temporary file of a process killed in `replace`."""
    folder, name = os.path.split(path)
    atomic.discard(os.path.join(folder, f"{atomic.PREFIX}{name}.{DRAFT}{atomic.SUFFIX}"))


def last(store: Store) -> dict[str, object]:
    """Return the last sync: `at` (None: never), `remote`, `error` (the JSON of an error, or None).

    `succeeded` is the time of the last successful sync (None: never), `failures` the number of failures since.
    """
    try:
        found = json.loads(atomic.read(os.path.join(store.places.state, _LAST_SYNC)))
        facts = {name: found[name] for name in ("at", "remote", "error", "succeeded", "failures")}
        return facts if isinstance(facts["failures"], int) else dict(_NEVER)
    except (EngramError, ValueError, KeyError, TypeError):
        return dict(_NEVER)


# The mark of changes that were not sent yet: a file that contains the time of the first, with the modification time of the last.

_CHANGED = "sync-waits"


def mark_change(store: Store) -> None:
    """Note that there is a new change to send; if that fails, the next sync sends it anyway."""
    _mark(store, store.clock.nanoseconds())


def _mark(store: Store, moment: int) -> None:
    path = _changed_path(store)
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileExistsError), open(path, "x", encoding="ascii") as file:
            file.write(f"{moment}")
        os.utime(path, ns=(moment, moment))


def last_change(store: Store) -> int:
    """Return the time of the last unsent change, in nanoseconds since 1970; 0 if there is none."""
    try:
        return os.stat(_changed_path(store)).st_mtime_ns
    except OSError:
        return 0


def first_change(store: Store) -> int:
    """Return the time of the first unsent change, in nanoseconds since 1970; if unknown, that of the last."""
    try:
        with open(_changed_path(store), encoding="ascii") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return last_change(store)


def forget_change(store: Store, seen: int) -> None:
    """Note that every change up to `seen`, a result of `last_change`, was sent."""
    last = last_change(store)
    if seen and last:
        atomic.discard(_changed_path(store))
        if last != seen:
            _mark(store, last)


def _changed_path(store: Store) -> str:
    return os.path.join(store.places.state, _CHANGED)


# Watermarks: the commit up to which something was done, by name.


def read_watermark(store: Store, name: str) -> str:
    """Read the commit of a watermark; "" if it is missing or invalid."""
    try:
        found = atomic.read(os.path.join(store.places.state, name)).decode("ascii", "replace").strip()
    except EngramError:
        return ""
    return found if found.isalnum() else ""


def write_watermark(store: Store, name: str, commit: str) -> None:
    """Write the commit of a watermark if it changed. Raises StoreError."""
    if commit != read_watermark(store, name):
        with store.files.lock():
            replace(os.path.join(store.places.state, name), commit.encode("ascii"))
