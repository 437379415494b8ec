"""The history of a lore, from git."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.errors import StoreError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.commit import commit_quietly
from engram.usecases.resolve import resolve

if TYPE_CHECKING:
    from engram.usecases.store import Store


class Event(NamedTuple):
    """One commit that touched a lore: id, time (UTC), author, the agent that made it ("" unknown), subject."""

    commit: str
    at: datetime
    author: str
    agent: str
    session: str
    delta: str
    subject: str


def history(store: Store, name: str, limit: int = 50) -> tuple[str, list[Event]]:
    """The id of the named lore and its commits, newest first. Raises NotFoundError, UsageError, GitError, StoreError."""
    if limit < 1:
        raise UsageError(f"The limit must be 1 or more, not {limit}.")
    repository = store.places.repository
    if repository is None:
        raise StoreError(
            "This store is a folder outside git, so it has no history.", "`git init` there starts one."
        )
    from engram.adapters.git.history import log

    with store.lock:
        commit_quietly(store)
        found = resolve(store, name)
    path = _in_repository(store, found.path)
    events = [
        Event(
            entry.short,
            datetime.fromtimestamp(entry.moment, UTC),
            entry.author,
            _first(entry.trailers.get("Engram-Agent", ())),
            _first(entry.trailers.get("Engram-Session", ())),
            _first(entry.trailers.get("Engram-Delta", ())),
            entry.subject,
        )
        for entry in log(repository, path, limit)
    ]
    return found.id, events


def _in_repository(store: Store, path: str) -> str:
    """The store path as git knows it: relative to the work tree, which may be above the store."""
    import os

    assert store.places.repository is not None
    top = os.path.realpath(store.places.repository.worktree)
    full = os.path.realpath(store.files.absolute(path))
    return os.path.relpath(full, top).replace(os.sep, "/")


def _first(values: tuple[str, ...]) -> str:
    return values[0] if values else ""
