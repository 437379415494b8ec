"""What is known of the last sync: when, with which remote, and why it failed. Kept in the state folder."""

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

_NAME = "last-sync.json"
DRAFT = "sync"
_NEVER: dict[str, object] = {"at": None, "remote": "", "error": None, "succeeded": None, "failures": 0}


def remember(store: Store, remote: str, error: EngramError | None) -> None:
    """Note how a sync ended; where that cannot be written it is left out."""
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
            replace(os.path.join(store.places.state, _NAME), json.dumps(facts, ensure_ascii=False).encode())
    except EngramError:
        return


def distance(store: Store) -> tuple[int, int]:
    """Return how many commits only we have, and only the remote had when we last looked; 0 where that is not known."""
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
    """Return the names of the store's remotes; none where git cannot tell."""
    from engram.usecases.store.remote import list_remotes

    try:
        return [remote.name for remote in list_remotes(store)]
    except EngramError:
        return []


def replace(path: str, content: bytes, mode: int = 0o600) -> None:
    """Write a file that only who holds a lock writes: what a killed one left goes with the next. Raises StoreError."""
    discard_draft(path)
    atomic.put(atomic.prepare(path, content, DRAFT, mode), path)


def discard_draft(path: str) -> None:
    """Delete what a process left that was killed in `replace`."""
    folder, name = os.path.split(path)
    atomic.discard(os.path.join(folder, f"{atomic.PREFIX}{name}.{DRAFT}{atomic.SUFFIX}"))


def last(store: Store) -> dict[str, object]:
    """Return the last sync: `at` (None: never), `remote`, `error` (the JSON of an error, or None).

    `succeeded` is when one did last (None: never), `failures` how many failed since.
    """
    try:
        found = json.loads(atomic.read(os.path.join(store.places.state, _NAME)))
        facts = {name: found[name] for name in ("at", "remote", "error", "succeeded", "failures")}
        return facts if isinstance(facts["failures"], int) else dict(_NEVER)
    except (EngramError, ValueError, KeyError, TypeError):
        return dict(_NEVER)


# The mark of changes that are to be sent by themselves: a file whose time is that of the last one. It says that of the first.

_CHANGED = "sync-waits"


def mark_change(store: Store) -> None:
    """Note that something was written now that is to be sent. What cannot be noted goes with the next sync in any case."""
    _mark(store, store.clock.nanoseconds())


def _mark(store: Store, moment: int) -> None:
    path = _changed_path(store)
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileExistsError), open(path, "x", encoding="ascii") as file:
            file.write(f"{moment}")
        os.utime(path, ns=(moment, moment))


def last_change(store: Store) -> int:
    """Return when something was written last that was not sent yet, in nanoseconds since 1970; 0 where all was sent."""
    try:
        return os.stat(_changed_path(store)).st_mtime_ns
    except OSError:
        return 0


def first_change(store: Store) -> int:
    """Return when the first of what was not sent yet was written, as far as that is known; else as `last_change`."""
    try:
        with open(_changed_path(store), encoding="ascii") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return last_change(store)


def forget_change(store: Store, seen: int) -> None:
    """Note that everything written up to `seen` (as `last_change` said) was sent."""
    last = last_change(store)
    if seen and last:
        atomic.discard(_changed_path(store))
        if last != seen:
            _mark(store, last)


def _changed_path(store: Store) -> str:
    return os.path.join(store.places.state, _CHANGED)


# Watermarks: up to which commit something was done, by name, kept in the state folder.


def read_watermark(store: Store, name: str) -> str:
    """Read the commit of a watermark; "" where there is none, or it cannot be a commit."""
    try:
        found = atomic.read(os.path.join(store.places.state, name)).decode("ascii", "replace").strip()
    except EngramError:
        return ""
    return found if found.isalnum() else ""


def write_watermark(store: Store, name: str, commit: str) -> None:
    """Write the commit of a watermark, unless it is there already. Raises StoreError."""
    if commit != read_watermark(store, name):
        with store.files.lock():
            replace(os.path.join(store.places.state, name), commit.encode("ascii"))
