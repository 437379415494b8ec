"""The history of a lore, from git."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.commit import commit_quietly
from engram.usecases.lineage import Version, lore_of, repository_of, versions
from engram.usecases.resolve import resolve
from engram.usecases.signature_state import signatures_of

if TYPE_CHECKING:
    from engram.domain.trust import Signature
    from engram.usecases.store import Store


class Event(NamedTuple):
    """One commit that touched a lore: id, time (UTC), author, the agent that made it ("" unknown), subject.

    `confidence` is the lore's after it, 0.00..1.00; None where the commit deleted it or it could not be read.
    """

    commit: str
    at: datetime
    author: str
    agent: str
    session: str
    delta: str
    subject: str
    confidence: float | None
    signature: Signature


def history(store: Store, name: str, limit: int = 50) -> tuple[str, list[Event]]:
    """The id of the named lore and its commits, newest first. Raises NotFoundError, UsageError, GitError, StoreError."""
    if limit < 1:
        raise UsageError(f"The limit must be 1 or more, not {limit}.")
    repository_of(store)
    with store.lock:
        commit_quietly(store)
        found = resolve(store, name)
    listed = versions(store, found.path, found.id, limit)
    known = signatures_of(store, [version.entry.oid for version in listed])
    return found.id, [_event(store, version, known[version.entry.oid]) for version in listed]


def _event(store: Store, version: Version, signature: Signature) -> Event:
    entry, lore = version.entry, lore_of(store, version)
    return Event(
        entry.short,
        datetime.fromtimestamp(entry.moment, UTC),
        entry.author,
        first(entry.trailers.get("Engram-Agent", ())),
        first(entry.trailers.get("Engram-Session", ())),
        first(entry.trailers.get("Engram-Delta", ())),
        entry.subject,
        lore.confidence if lore else None,
        signature,
    )


def first(values: tuple[str, ...]) -> str:
    """The first of a trailer's values; "" where it has none."""
    return values[0] if values else ""
