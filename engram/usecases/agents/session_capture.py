"""What hooks record when a task, a subagent or a session ends: a few entries, by conservative rules.

A lesson becomes a captured entry: private, recalled with a mark, gone after two weeks unless a person accepts it. The
summary of a session and the result of a task become pending entries. The hook itself only queues a report, durably and
without secrets (`hand_in`); a detached process makes entries of it (`persist`). The size of a report, the queue, and the
entries of a session and of a day are limited.
"""

from __future__ import annotations

import os

from engram.adapters.agents import transcript, transcript_steps
from engram.adapters.files.durable.job_queue import JobQueue
from engram.adapters.state.hook_memory import CAPTURED, SHOWN, HookMemory
from engram.domain.admission.secrets import find_secrets, redact
from engram.domain.agents import fence
from engram.domain.agents.candidates import MOST
from engram.domain.agents.extraction import Turn, extract, is_a_change, say_alike, speaker_of
from engram.domain.agents.fixes import fixes
from engram.domain.agents.learned_moments import moments_of
from engram.domain.agents.prompt_intent import asked_in
from engram.domain.entry.lore import ACTIVE, PENDING
from engram.domain.errors import ConflictError, EngramError, StoreError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.agents.extract import record_new
from engram.usecases.recording import record as recording
from engram.usecases.similarity.near_duplicates import find_same, similar_or_bare
from engram.usecases.store import activity_log, captured, judgements, learned_moments
from engram.usecases.store.captured import ORIGIN
from engram.usecases.store.code_repository import from_the_top

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store

MOST_CHARACTERS = 16_000  # of a report
MOST_WAITING = 64  # reports
MOST_A_SESSION = 8
MOST_A_DAY = 40
_DAY = 86_400.0
_SUMMARY, _RESULT = _FILED = ("SESSION_SUMMARY", "TASK_RESULT")
_CONFIDENCE = 0.5
_MOST_LOOKED_AT = 200  # lessons of a transcript
_LEAST_SAID = 80  # characters that a summary's outcome or a task's description must have
_LONGEST_SAID = 900
_LONGEST_ASKED = 300


class Report(NamedTuple):
    """What a hook hands in: the event, who and which session, what the agent said last, where its transcript is.

    `task` is the subject of a task that was completed; `whole` says that the session is over.
    """

    event: str
    agent: str
    session: str
    said: str = ""
    task: str = ""
    transcript: str = ""
    working: str = ""
    whole: bool = False


def hand_in(store: Store, report: Report) -> bool:
    """Queue a report for `persist`; False where it holds nothing or too many wait. Raises StoreError."""
    reply, task = (_clean(store, text) for text in (report.said, report.task))
    if not (reply or task or report.transcript):
        return False
    report = report._replace(said=reply, task=task)
    queue = _queue(store)
    kept = queue.count()[0] < MOST_WAITING
    if kept:
        queue.put(store.clock.new_id(), report._asdict())
    activity_log.note(store, "capture", query=task or reply[:200], details={"kept": int(kept)})
    return kept


def persist(store: Store) -> int:
    """Make pending entries of the waiting reports; returns how many. Does nothing while another process does it.

    A report is removed only when its entries are written.
    """
    return _queue(store).work_off(lambda job: _persist(store, job))


def _persist(store: Store, job: dict[str, object]) -> int:
    try:
        report = Report(**job)  # type: ignore[arg-type]
        drafts = _drafts(store, report)
    except (TypeError, AttributeError):  # of another version of Engram
        return 0
    memory, count = HookMemory(store.state), 0
    for draft in drafts:
        now = store.clock.now().timestamp()
        if (
            memory.count(CAPTURED, now - _DAY) >= MOST_A_DAY
            or memory.count(CAPTURED, 0, report.session) >= MOST_A_SESSION
        ):
            break
        summary = draft.category == _SUMMARY
        key = _SUMMARY if summary else store.clock.new_id()
        if summary and key in memory.marked(CAPTURED, report.session):
            continue  # a session that was resumed ends several times
        kept = (
            _keep_captured(store, draft, report.session)
            if draft.category not in _FILED
            else _record_draft(store, draft, anyway=summary)
        )
        if kept:
            memory.mark(CAPTURED, report.session, key, now)
            count += 1
    return count


def _was_shown(store: Store, session: str, lore_id: str) -> bool:
    return any(key.startswith(lore_id) for key in HookMemory(store.state).marked(SHOWN, session))


def _keep_captured(store: Store, draft: recording.Draft, session: str) -> bool:
    """Keep a lesson as a captured entry, unless the store or a captured entry says nearly the same already, or it is refused.

    One that the store has in these words is confirmed by this, unless the session was shown it: that would be its echo.
    """
    try:
        lore, _ = recording.prepare(store, draft)
        learned, lore = lore.when, lore._replace(when=())  # what is learned is never in a file
        twins = similar_or_bare(store, lore)
        there = find_same(store, lore, [twin.path for twin in twins])
        if (
            there is not None
            and there.lore.status == ACTIVE
            and not _was_shown(store, session, there.lore.id)
        ):
            judgements.confirm(store, there.lore, lore.agent)
            learned_moments.learn(store, there.lore.id, learned)
        if (
            there is not None
            or twins
            or any(say_alike(lore.content, other.content) for other in captured.lessons(store))
        ):
            return False
        captured.keep(store, lore)
        learned_moments.learn(store, lore.id, learned)
        for other in filter(captured.is_outcome, captured.list_captured(store)):
            if other.content.partition("\n")[0].removeprefix("Seen: ") in lore.content:  # now it is explained
                captured.drop(store, other.id)
    except (ConflictError, StoreError):  # not now: the report stays in the queue
        raise
    except EngramError:
        return False
    return True


def _record_draft(store: Store, draft: recording.Draft, *, anyway: bool) -> bool:
    """Record a draft unless the store says nearly the same already (or `anyway`), or refuses it."""
    try:
        if anyway:
            recording.record(store, draft)
            return True
        return record_new(store, draft)[0] is not None
    except EngramError:
        return False


def _drafts(store: Store, report: Report) -> list[recording.Draft]:
    """Return what a report gives: candidates from what was said, a task's result, a session's summary."""
    found = transcript.read(report.transcript) if report.transcript else transcript.Transcript()
    solved = fixes(transcript_steps.read(report.transcript)) if report.transcript else []
    drafts = [
        _draft(store, report, fix.content, fix.category, files, moments_of(fix.command, files), fix.asked)
        for fix in solved[:MOST]
        for files in [from_the_top(report.working, fix.files)]
    ]
    turns, asked = _turns(found, report.said)
    learned = [
        one
        for one in extract(turns, _MOST_LOOKED_AT)
        if not is_a_change(one) and not any(say_alike(one.content, fix.explanation) for fix in solved)
    ]
    # What is said last is known best.
    drafts += [
        _draft(store, report, one.content, one.category, one.files, asked=asked[one.where])
        for one in learned[-MOST:]
    ]
    if report.task and not drafts and len(report.said) >= _LEAST_SAID:
        drafts = [_draft(store, report, _task(report), _RESULT, ())]
    summary = _summary(store, report, found) if report.whole else ""
    if summary:
        files = from_the_top(report.working, found.files)
        drafts.append(_draft(store, report, summary, _SUMMARY, files))
    return drafts


def _turns(found: transcript.Transcript, said: str) -> tuple[list[Turn], dict[str, str]]:
    """Return what was said, `said` behind the rest, and what had been asked before each turn of the agent, by where it is."""
    turns, prompts, asked, before = list[Turn](), list[str](), dict[str, str](), ""
    for number, (role, words) in enumerate((*found.turns, ("assistant", said))):
        text, where = fence.remove_frames(words), f"message {number}"
        if role == "user":
            prompts.append(text)
            before = asked_in(prompts)
        turns.append(Turn(speaker_of(role), text, where))
        asked[where] = "" if role == "user" else before
    return turns, asked


def _draft(
    store: Store, report: Report, content: str, category: str, files: Sequence[str], when: Sequence[str] = (),
    asked: str = "",
) -> recording.Draft:  # fmt: skip
    summed_up = category == _SUMMARY
    # The words of a prompt are those of the next one about the same thing.
    context = [f"{captured.CONTEXT}{report.event}", *([f"{captured.ASKED}{asked}"] if asked else [])]
    return recording.Draft(
        content,
        category if category in store.categories else "OBSERVATION",
        context=tuple(context),
        confidence=_CONFIDENCE,
        tags=(ORIGIN,),
        files=tuple(files[:20]),
        type="episodic" if summed_up else "",
        status=PENDING,
        agent=report.agent,
        redact=True,
        when=tuple(when),
        keys={"session": report.session, "participants": (report.agent,)} if summed_up else {},
    )


def _task(report: Report) -> str:
    return f"Task done: {report.task[:_LONGEST_ASKED]}\n\n{report.said[:_LONGEST_SAID]}"


def _summary(store: Store, report: Report, found: transcript.Transcript) -> str:
    """Return a session that changed files and said how it ended, in a few lines; "" for any other."""
    replies = [text for text in (*found.said, report.said) if len(text) >= _LEAST_SAID]
    if not (found.files and found.prompts and replies):
        return ""
    # Without secrets before it is cut: half a one would not be recognized.
    asked = _clean(store, found.prompts[0])[:_LONGEST_ASKED]
    ended = _clean(store, replies[-1])[:_LONGEST_SAID]
    title = " ".join(asked.split())[:90]
    return f"Session: {title}\n\nAsked: {asked}\n\nEnded with: {ended}"


def _clean(store: Store, text: str) -> str:
    """Return a text for a report: without what Engram itself had said, without secrets, not too long."""
    text = fence.remove_frames(text)
    return redact(text, find_secrets(text, store.allowed_secrets))[-MOST_CHARACTERS:].strip()


def _queue(store: Store) -> JobQueue:
    return JobQueue(os.path.join(store.places.state, "outcomes"))
