"""The history of one entry, and of all: who changed what, when, and how confidence changed."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.entry import times
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.history.history_feed import with_history
from engram.usecases.lookup.resolve import home_of, resolve
from engram.usecases.store.commit import commit_quietly
from engram.usecases.store.lineage import in_git, in_store, repository_of
from engram.usecases.store.signature_state import signatures_of

if TYPE_CHECKING:
    from engram.adapters.state.history_table import CommitRow, EventRow
    from engram.domain.admission.trust import Signature
    from engram.usecases.history.history_feed import Step
    from engram.usecases.store.store import Store

SHORT = 10  # characters of a commit id shown to people
WAIT_SECONDS = 5.0  # for another process that is committing, so that acknowledged changes are shown


class Event(NamedTuple):
    """The change of an entry by one commit: commit, time (UTC), author, and the values of its trailers ("" unknown).

    `agent` and `session` made it, in the clone `source`, as part of the operation `op`. `kind` is added, changed, moved,
    removed or merged, `fields` what changed, `path` the path afterwards. Confidence is 0.00..1.00; None if the entry does
    not exist or is unreadable.
    """

    commit: str
    at: datetime
    author: str
    agent: str
    session: str
    source: str
    op: str
    delta: str
    subject: str
    kind: str
    path: str
    fields: tuple[str, ...]
    confidence_before: float | None
    confidence: float | None
    validation_count: int | None
    signature: Signature


class Operation(NamedTuple):
    """A commit that changed entries, with their ids; other fields as in `Event`."""

    commit: str
    at: datetime
    author: str
    agent: str
    session: str
    source: str
    op: str
    delta: str
    subject: str
    lore: tuple[str, ...]


def history(store: Store, name: str, limit: int = 50, step: Step | None = None) -> tuple[str, list[Event]]:
    """Return the id of the named entry and its commits, newest first; `step` gets the progress of the history table.

    Raises NotFoundError, AmbiguousError, UsageError, GitError, StoreError.
    """
    _check(limit)
    store = home_of(store, name)
    repository_of(store)
    with store.lock:
        commit_quietly(store, wait=WAIT_SECONDS)
        found = resolve(store, name)
    path = in_git(store, found.path)
    rows = with_history(store, lambda table: table.of_lore(found.id, path, limit), step)
    known = signatures_of(store, [commit.oid for commit, _ in rows])
    return found.id, [_event(store, commit, event, known[commit.oid]) for commit, event in rows]


def recent(
    store: Store, limit: int = 50, agent: str = "", since: str = "", step: Step | None = None
) -> list[Operation]:
    """Return the last commits that changed entries, newest first; of an agent, since a date (`2026-11-01`, RFC 3339).

    Raises UsageError, GitError, StoreError.
    """
    _check(limit)
    moment = _moment(since) if since else 0
    repository_of(store)
    with store.lock:
        commit_quietly(store, wait=WAIT_SECONDS)
    rows = with_history(store, lambda table: table.latest(limit, agent, moment), step)
    return [Operation(*_common_fields(commit), tuple(ids)) for commit, ids in rows]


def _check(limit: int) -> None:
    if limit < 1:
        raise UsageError(f"The limit must be 1 or more, not {limit}.")


def _moment(since: str) -> float:
    try:
        return times.parse(since).timestamp()
    except ValueError:
        raise UsageError(f"'{since[:60]}' is not a date.", "For example: --since 2026-11-01") from None


def _common_fields(
    commit: CommitRow,
) -> tuple[str, datetime, str, str, str, str, str, str, str]:
    return (
        commit.oid[:SHORT], datetime.fromtimestamp(commit.moment, UTC), commit.author, commit.agent,
        commit.session, commit.source, commit.op, commit.delta, commit.subject,
    )  # fmt: skip


def _event(store: Store, commit: CommitRow, event: EventRow, signature: Signature) -> Event:
    before, after = (
        None if value is None else (value + 5) // 10 / 100
        for value in (event.confidence_before, event.confidence)
    )
    path = in_store(store, event.path)
    return Event(
        *_common_fields(commit), event.kind, path, event.fields, before, after, event.validations, signature
    )
