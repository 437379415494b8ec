"""Observations: texts that are queued at once, and turned into pending entries later, in the background.

The lessons that the rules of extraction find become entries; a text without any becomes one itself unless it is junk.
"""

from __future__ import annotations

import os

from engram.adapters.files.durable.job_queue import JobQueue
from engram.adapters.state.hook_memory import HookMemory
from engram.domain.admission.secrets import find_secrets, redact
from engram.domain.agents import fence
from engram.domain.entry import ulid
from engram.domain.entry.lore import MAX_CONTENT, PENDING
from engram.domain.errors import ConflictError, EngramError, StoreError, UsageError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import activity_log, entry_writer
from engram.usecases.store.detached_process import OBSERVATIONS
from engram.usecases.store.store import Caller, Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.recording.record import Draft

MOST_CHARACTERS = 8_000
MOST_A_MINUTE = 120
MOST_WAITING = 1_000
MOST_A_DAY = 100  # entries
MOST_EACH = 3
OBSERVED = "observed"
CATEGORY = "OBSERVATION"
_CONFIDENCE = 0.5
_DAY = 86_400.0


class Observed(NamedTuple):
    """A queued observation: its id, the length of the queue, the number of secrets masked."""

    id: str
    waiting: int
    redacted: int = 0


def observe(store: Store, text: str, *, agent: str = "", files: Sequence[str] = ()) -> Observed:
    """Queue a text durably for later extraction. Secrets in it are masked first.

    Raises ValidationError for one that is empty or has more than 8,000 characters, UsageError above the rate limits,
    NotAllowedError, StoreError.
    """
    text = fence.remove_frames(text).strip()
    if not text or len(text) > MOST_CHARACTERS:
        raise ValidationError(
            "text",
            f"An observation has 1 to {MOST_CHARACTERS:,} characters, not {len(text):,}.",
            "State what you saw, in fewer words if needed.",
        )
    entry_writer.check_allowed(store, "record", CATEGORY)
    queue, name = _queue(store), store.clock.new_id()
    waiting = _check_rate(store, queue)
    findings = find_secrets(text, store.allowed_secrets)
    job = {
        "text": redact(text, findings),
        "agent": agent or store.caller.agent,
        "session": store.caller.session,
        "files": [*files][:20],
    }
    queue.put(name, job)
    activity_log.note(store, "capture", query=text[:200] if not findings else "", details={"kept": 1})
    return Observed(name, waiting + 1, len(findings))


def waiting(store: Store) -> int:
    """Count the waiting observations."""
    return _queue(store).count()[0]


def has_work(store: Store) -> bool:
    """Return whether observations can be processed now."""
    return not _queue(store).is_empty() and _count_today(store) < MOST_A_DAY


def process_observations(store: Store) -> int:
    """Turn the waiting observations into pending entries, and return how many. Does nothing while another process does so.

    An observation is only removed once its entries are written.
    """
    return _queue(store).process(
        lambda job: _persist_as(store, job), lambda: _count_today(store) < MOST_A_DAY
    )


def _persist_as(store: Store, job: dict[str, object]) -> int:
    """Turn one observation into entries, in the name of the agent that made it."""
    with store.lock, store.calling(Caller(_text(job, "session"), _text(job, "agent"), "observe")):
        return _persist(store, job)


def _persist(store: Store, job: dict[str, object]) -> int:
    from engram.usecases.agents.extract import record_new

    count = 0
    for draft in _drafts(store, job):
        try:
            done, _ = record_new(store, draft)
        except (ConflictError, StoreError):  # temporary: the observation stays in the queue
            raise
        except EngramError:
            continue
        if done is not None:
            HookMemory(store.state).mark(OBSERVED, "", done.lore.id, store.clock.now().timestamp())
            count += 1
    return count


def _drafts(store: Store, job: dict[str, object]) -> list[Draft]:
    from engram.domain.admission.junk import why_junk
    from engram.domain.agents.extraction import AGENT, Turn, extract
    from engram.usecases.recording.record import Draft

    text, listed = _text(job, "text"), job.get("files")
    files = tuple(map(str, listed)) if isinstance(listed, list) else ()
    bare = Draft(
        text, CATEGORY, ("observed",), _CONFIDENCE, (OBSERVED,), files, status=PENDING, agent=_text(job, "agent"), redact=True
    )  # fmt: skip
    found = extract([Turn(AGENT, text, "observation")], MOST_EACH)
    if not found:
        return [] if why_junk(text) or len(text) > MAX_CONTENT else [bare]
    return [
        bare._replace(
            content=one.content,
            category=one.category if one.category in store.categories else CATEGORY,
            tags=tuple(dict.fromkeys([OBSERVED, *one.tags])),
            files=tuple(dict.fromkeys([*files, *one.files])),
            entities=one.entities,
        )
        for one in found
    ]


def _check_rate(store: Store, queue: JobQueue) -> int:
    """Count the waiting observations. Raises UsageError if too many wait, or came within a minute."""
    count, name = queue.count(MOST_A_MINUTE)
    if count >= MOST_WAITING:
        raise _too_many(f"{MOST_WAITING:,} observations wait already.")
    if ulid.is_valid(name) and ulid.moment(name).timestamp() > store.clock.now().timestamp() - 60:
        raise _too_many(f"{MOST_A_MINUTE} observations came within a minute.")
    return count


def _too_many(message: str) -> UsageError:
    return UsageError(message, "Observe what matters; `engram maintain` works through those that wait.")


def _count_today(store: Store) -> int:
    return HookMemory(store.state).count(OBSERVED, store.clock.now().timestamp() - _DAY)


def _text(job: dict[str, object], name: str) -> str:
    value = job.get(name)
    return value if isinstance(value, str) else ""


def _queue(store: Store) -> JobQueue:
    return JobQueue(os.path.join(store.places.state, OBSERVATIONS))
