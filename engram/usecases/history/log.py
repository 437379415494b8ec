"""The history of one entry or all: who changed what and when, and how confidence changed."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.admission.trust import NOT_SIGNED, Signature
from engram.domain.entry import times, ulid
from engram.domain.entry.lore import HUMAN
from engram.domain.entry.people import committer_line
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.history.history_feed import events_of, with_history
from engram.usecases.lookup.resolve import resolve, store_of_entry
from engram.usecases.store import entry_writer, judgements, people
from engram.usecases.store.commit import commit_quietly
from engram.usecases.store.judgement_words import judged_subjects
from engram.usecases.store.signature_state import signatures_of
from engram.usecases.store.version_paths import in_store, repository_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeVar

    from engram.adapters.state.history_table import CommitRow, EventRow
    from engram.domain.judgements.confidence_history import Course
    from engram.domain.judgements.ledger import Judgement
    from engram.usecases.history.history_feed import Step
    from engram.usecases.store.store import Store

    T = TypeVar("T", "Event", "Operation")

SHORT = 10  # characters of a commit id shown to people
JUDGED = "judged"
WAIT_SECONDS = 5.0  # for another process to finish committing, so that acknowledged changes are shown


UNSIGNED = Signature(NOT_SIGNED, "", "")


class Event(NamedTuple):
    """The change of an entry by one commit: commit, time (UTC), author, and the values of its trailers ("" unknown).

    `agent` and `session` made it, in the clone `source`, as part of the operation `op`. `kind` is added, changed, moved,
    removed, merged or judged; a judgement is a line of a ledger, and its `commit` the end of its id. `fields` are the
    changed fields, `path` is the path afterwards, `machine` the name of the machine. Confidence is 0.00..1.00; None if
    the entry does not exist or is unreadable.
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
    machine: str = ""

    @property
    def who(self) -> str:
        """Who did it, by name."""
        return committer_line(self.agent, self.author)


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
    machine: str = ""

    @property
    def who(self) -> str:
        """Who did it, by name."""
        return committer_line(self.agent, self.author)


def history(store: Store, name: str, limit: int = 50, step: Step | None = None) -> tuple[str, list[Event]]:
    """Return an entry's id and its commits, newest first; `step` gets the progress of the history table.

    Raises NotFoundError, AmbiguousError, UsageError, GitError, StoreError.
    """
    _check(limit)
    store = store_of_entry(store, name)
    repository_of(store)
    with store.lock:
        commit_quietly(store, wait=WAIT_SECONDS)
        found = resolve(store, name)
    rows = events_of(store, found.id, found.path, limit, step)
    known = signatures_of(store, [commit.oid for commit, _ in rows])
    events = [_event(store, commit, event, known[commit.oid]) for commit, event in rows]
    course = judgements.history_of(store, entry_writer.load(store, found.path).lore)
    if course.lines:
        judged = [_with_confidence(*pair, course) for pair in zip(events, _places(events), strict=True)]
        events = _by_time(judged, _judged_events(store, course, found.path, limit))
    return found.id, events[:limit]


def recent(
    store: Store, limit: int = 50, agent: str = "", since: str = "", step: Step | None = None
) -> list[Operation]:
    """Return the last commits that changed entries, newest first, by agent or since a date (`2026-11-01`, RFC 3339) if given.

    Raises UsageError, GitError, StoreError.
    """
    _check(limit)
    moment = _moment(since) if since else 0
    repository_of(store)
    with store.lock:
        commit_quietly(store, wait=WAIT_SECONDS)
    rows = with_history(store, lambda table: table.latest(limit, agent, moment), step)
    committed = [Operation(*_common_fields(commit), tuple(ids), commit.machine) for commit, ids in rows]
    lines = judgements.latest(store, limit, agent, moment)
    subjects = judged_subjects(judgements.lines_of(store, sorted({line.entry for line in lines})))
    judged = [
        Operation(
            *_line_fields(store, line, subjects), (line.entry,), people.machine_name(store, line.source)
        )
        for line in lines
    ]
    return _by_time(committed, judged)[:limit]


def _by_time(commits: Sequence[T], lines: Sequence[T]) -> list[T]:
    """Merge both, newest first. Commits stay in the order of their history, whatever their times."""
    found: list[T] = []
    rest = list(lines)[::-1]
    for commit, position in zip(commits, _places(commits), strict=True):
        while rest and rest[-1].op > position:
            found.append(rest.pop())
        found.append(commit)
    return found + rest[::-1]


def _places(commits: Sequence[T]) -> list[str]:
    """Return the positions of commits (newest first) among the ids of lines, never before that of an older commit."""
    positions: list[str] = []
    for commit in reversed(commits):
        whole_second = (int(commit.at.timestamp()) + 1) * 1000
        position = commit.op if ulid.is_valid(commit.op) else ulid.encode(max(0, whole_second), 0)
        positions.append(max(position, positions[-1]) if positions else position)
    return positions[::-1]


def _with_confidence(event: Event, position: str, course: Course) -> Event:
    """Return the event of a commit with its confidence adjusted by the judgements up to then."""
    if event.validation_count:  # a file of format 1 includes judgements
        return event
    before, after = (
        None if value is None else course.upto(position, round(value * 1000))
        for value in (event.confidence_before, event.confidence)
    )
    return event._replace(
        confidence_before=_shown(before and before.full),
        confidence=_shown(after and after.full),
        validation_count=after.validation_count if after else event.validation_count,
    )


def _shown(thousandths: int | None) -> float | None:
    """Convert a confidence in thousandths to the figure shown."""
    return None if thousandths is None else (thousandths + 5) // 10 / 100


def _judged_events(store: Store, course: Course, path: str, limit: int) -> list[Event]:
    """Return the judgements of an entry, newest first."""
    subjects = judged_subjects(course.lines)
    return [
        Event(
            *_line_fields(store, step.line, subjects, f"{(step.after - step.before) / 1000:+.2f}"), JUDGED, path, (),
            _shown(step.before), _shown(step.after), step.validation_count, UNSIGNED,
            people.machine_name(store, step.line.source),
        )
        for step in course.steps(limit)
    ]  # fmt: skip


def _line_fields(
    store: Store, line: Judgement, subjects: Mapping[str, str], delta: str = ""
) -> tuple[str, datetime, str, str, str, str, str, str, str]:
    """Return the fields of a line of a ledger; its id takes the place of a commit's."""
    source = ulid.short(line.source)
    at = judgements.moment_of(line).replace(microsecond=0)
    name = people.person_of(store, line.source) or source
    return line.id[-SHORT:], at, name, line.agent or HUMAN, "", source, line.id, delta, subjects[line.id]


def _check(limit: int) -> None:
    if limit < 1:
        raise UsageError(f"The limit must be 1 or more, not {limit}.")


def _moment(since: str) -> float:
    try:
        return times.parse(since).timestamp()
    except ValueError:
        raise UsageError(f"'{since[:60]}' is not a date.", "For example: --since 2026-11-01") from None


def _common_fields(commit: CommitRow) -> tuple[str, datetime, str, str, str, str, str, str, str]:
    return (
        commit.oid[:SHORT], datetime.fromtimestamp(commit.moment, UTC), commit.author, commit.agent,
        commit.session, commit.source, commit.op, commit.delta, commit.subject,
    )  # fmt: skip


def _event(store: Store, commit: CommitRow, event: EventRow, signature: Signature) -> Event:
    return Event(
        *_common_fields(commit), event.kind, in_store(store, event.path), event.fields,
        _shown(event.confidence_before), _shown(event.confidence), event.validations, signature, commit.machine,
    )  # fmt: skip
