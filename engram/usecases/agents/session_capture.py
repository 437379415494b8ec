"""Capture a few entries when a task, a subagent or a session ends, by conservative rules.

A lesson becomes a captured entry: private, recalled with a mark, and deleted after two weeks unless a person accepts it.
The summary of a session and the result of a task become pending entries. The hook itself only queues a report, durably
and without secrets (`submit_report`); a detached process turns it into entries (`process_reports`). The size of a
report, the queue, and the entries per session and day are limited.
"""

from __future__ import annotations

import os

from engram.adapters.agents import transcript, transcript_steps
from engram.adapters.files.durable.job_queue import JobQueue
from engram.adapters.state.hook_memory import CAPTURED, SHOWN, HookMemory
from engram.domain.admission.secrets import find_secrets, redact
from engram.domain.agents import fence
from engram.domain.agents.candidates import MOST
from engram.domain.agents.extraction import Turn, are_alike, extract, is_mere_change, speaker_of
from engram.domain.agents.fixes import find_fixes
from engram.domain.agents.learned_moments import moments_of
from engram.domain.agents.prompt_intent import topic_of
from engram.domain.entry.lore import ACTIVE, PENDING
from engram.domain.errors import ConflictError, EngramError, StoreError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.agents.extract import record_new
from engram.usecases.recording import record as recording
from engram.usecases.similarity.near_duplicates import find_same, find_similar_or_by_text
from engram.usecases.store import activity_log, captured, judgements, learned_moments
from engram.usecases.store.captured import ORIGIN
from engram.usecases.store.code_repository import relative_to_top

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
_MOST_LESSONS = 200  # in a transcript
_SHORTEST_REPLY = 80  # characters of a reply that is worth summarizing
_LONGEST_REPLY = 900
_LONGEST_PROMPT = 300


class Report(NamedTuple):
    """A report of a hook: the event, agent and session, the agent's last reply, and the path of its transcript.

    `task` is the subject of a completed task; `whole` says that the session is over.
    """

    event: str
    agent: str
    session: str
    said: str = ""
    task: str = ""
    transcript: str = ""
    working: str = ""
    whole: bool = False


def submit_report(store: Store, report: Report) -> bool:
    """Queue a report for `process_reports`; return False if it is empty or too many wait. Raises StoreError."""
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


def process_reports(store: Store) -> int:
    """Turn the waiting reports into entries, and return how many. Does nothing while another process does so.

    A report is only removed once its entries are written.
    """
    return _queue(store).process(lambda job: _persist(store, job))


def _persist(store: Store, job: dict[str, object]) -> int:
    try:
        report = Report(**job)  # type: ignore[arg-type]
        drafts = _drafts(store, report)
    except (TypeError, AttributeError):  # written by another version of Engram
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
    """Keep a lesson as a captured entry, unless it is refused or another entry says nearly the same.

    An entry with the same text is confirmed, unless the session was shown it and may only repeat it.
    """
    try:
        lore, _ = recording.prepare(store, draft)
        learned, lore = lore.when, lore._replace(when=())  # learned moments are not written into files
        twins = find_similar_or_by_text(store, lore)
        same = find_same(store, lore, [twin.path for twin in twins])
        if same is not None and same.lore.status == ACTIVE and not _was_shown(store, session, same.lore.id):
            judgements.confirm(store, same.lore, lore.agent)
            learned_moments.learn(store, same.lore.id, learned)
        if (
            same is not None
            or twins
            or any(are_alike(lore.content, other.content) for other in captured.lessons(store))
        ):
            return False
        captured.keep(store, lore)
        learned_moments.learn(store, lore.id, learned)
        for other in filter(captured.is_outcome, captured.list_captured(store)):
            if other.content.partition("\n")[0].removeprefix("Seen: ") in lore.content:  # `lore` explains it
                captured.drop(store, other.id)
    except (ConflictError, StoreError):  # temporary: the report stays in the queue
        raise
    except EngramError:
        return False
    return True


def _record_draft(store: Store, draft: recording.Draft, *, anyway: bool) -> bool:
    """Record a draft unless it is refused, or (without `anyway`) an entry says nearly the same."""
    try:
        if anyway:
            recording.record(store, draft)
            return True
        return record_new(store, draft)[0] is not None
    except EngramError:
        return False


def _drafts(store: Store, report: Report) -> list[recording.Draft]:
    """Return the drafts of a report: fixes and lessons, or the result of a task; and the summary of a session."""
    found = transcript.read(report.transcript) if report.transcript else transcript.Transcript()
    solved = find_fixes(transcript_steps.read(report.transcript)) if report.transcript else []
    drafts = [
        _draft(store, report, fix.content, fix.category, files, moments_of(fix.command, files), fix.asked)
        for fix in solved[:MOST]
        for files in [relative_to_top(report.working, fix.files)]
    ]
    turns, asked = _turns(found, report.said)
    learned = [
        one
        for one in extract(turns, _MOST_LESSONS)
        if not is_mere_change(one) and not any(are_alike(one.content, fix.explanation) for fix in solved)
    ]
    # The last lessons are the most reliable.
    drafts += [
        _draft(store, report, one.content, one.category, one.files, asked=asked[one.where])
        for one in learned[-MOST:]
    ]
    if report.task and not drafts and len(report.said) >= _SHORTEST_REPLY:
        drafts = [_draft(store, report, _task(report), _RESULT, ())]
    summary = _summary(store, report, found) if report.whole else ""
    if summary:
        files = relative_to_top(report.working, found.files)
        drafts.append(_draft(store, report, summary, _SUMMARY, files))
    return drafts


def _turns(found: transcript.Transcript, said: str) -> tuple[list[Turn], dict[str, str]]:
    """Return the turns of a session, with `said` as the last, and the topic before each turn of the agent, by its place."""
    turns, prompts, asked, before = list[Turn](), list[str](), dict[str, str](), ""
    for number, (role, words) in enumerate((*found.turns, ("assistant", said))):
        text, where = fence.remove_frames(words), f"message {number}"
        if role == "user":
            prompts.append(text)
            before = topic_of(prompts)
        turns.append(Turn(speaker_of(role), text, where))
        asked[where] = "" if role == "user" else before
    return turns, asked


def _draft(
    store: Store, report: Report, content: str, category: str, files: Sequence[str], when: Sequence[str] = (),
    asked: str = "",
) -> recording.Draft:  # fmt: skip
    is_summary = category == _SUMMARY
    # The next prompt about the same subject will use similar words.
    context = [f"{captured.CONTEXT}{report.event}", *([f"{captured.ASKED}{asked}"] if asked else [])]
    return recording.Draft(
        content,
        category if category in store.categories else "OBSERVATION",
        context=tuple(context),
        confidence=_CONFIDENCE,
        tags=(ORIGIN,),
        files=tuple(files[:20]),
        type="episodic" if is_summary else "",
        status=PENDING,
        agent=report.agent,
        redact=True,
        when=tuple(when),
        keys={"session": report.session, "participants": (report.agent,)} if is_summary else {},
    )


def _task(report: Report) -> str:
    return f"Task done: {report.task[:_LONGEST_PROMPT]}\n\n{report.said[:_LONGEST_REPLY]}"


def _summary(store: Store, report: Report, found: transcript.Transcript) -> str:
    """Summarize a session that changed files and ended with a reply, in a few lines; "" for any other."""
    replies = [text for text in (*found.said, report.said) if len(text) >= _SHORTEST_REPLY]
    if not (found.files and found.prompts and replies):
        return ""
    # Secrets are masked before the cut, since half a secret would not be recognized.
    asked = _clean(store, found.prompts[0])[:_LONGEST_PROMPT]
    ended = _clean(store, replies[-1])[:_LONGEST_REPLY]
    title = " ".join(asked.split())[:90]
    return f"Session: {title}\n\nAsked: {asked}\n\nEnded with: {ended}"


def _clean(store: Store, text: str) -> str:
    """Return a text for a report: without Engram's own text, with secrets masked, and not too long."""
    text = fence.remove_frames(text)
    return redact(text, find_secrets(text, store.allowed_secrets))[-MOST_CHARACTERS:].strip()


def _queue(store: Store) -> JobQueue:
    return JobQueue(os.path.join(store.places.state, "outcomes"))
