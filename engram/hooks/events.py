"""Handle the events of agents: a function for each returns the text to put before the agent's model, or ""."""

from __future__ import annotations

import os

from engram.adapters.agents import hook_events as names
from engram.adapters.state.hook_memory import ASKED, LEFT, MOMENT, NAMED, SHOWN, TRANSCRIPT, HookMemory
from engram.domain.agents import command_signals
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.domain.agents.moment_match import Event
    from engram.hooks.payload import Payload
    from engram.usecases.agents.tool_outcomes import Use
    from engram.usecases.store.store import Store

TIDY, SYNC = "tidy", "sync"  # what the detached process does
_SHORTEST_PROMPT = 12
_PERSON_SOURCES = ("", "user")
_CONTEXT_LOST = ("compact", "clear")  # sources after which an agent's context no longer has what it was shown
# Share of the bar for questions, since an error names its subject and is rarely one that no entry could answer.
_BAR_FOR_ERRORS = 0.44
_FEWEST_WORDS = 3  # of a command: fewer, such as its program and a common word, match everywhere
_MAX_ASKED = 5
_MAX_FILES = 4
_MAX_MOMENT_FILES = 20
QUESTION = (
    "Engram showed notes in this session, which are named below. Say once which of them helped, were wrong or were "
    "not relevant, with the tool recall_feedback or `engram feedback --helpful … --incorrect … --not-relevant …`, "
    "beside what else you do."
)


class Reply(NamedTuple):
    """The reply to an event: a text for the model, and the task of a detached process (TIDY, SYNC, or "" for none)."""

    text: str = ""
    later: str = ""


def session_start(store: Store, payload: Payload, agent: str) -> Reply:
    """Return the brief and the rules of use, and sync in the background. What the agent's context still has is left out."""
    from engram.usecases.agents import session_rules
    from engram.usecases.agents.brief import RULES, brief
    from engram.usecases.agents.handoffs import for_session_start
    from engram.usecases.opening.open_store import own_store_notice

    memory, rules = HookMemory(store.state), session_rules.rules_file(agent, payload.cwd)
    if payload.source in _CONTEXT_LOST or rules:  # a rules file is written anew
        memory.forget(SHOWN, store.caller.session)
        memory.forget(MOMENT, store.caller.session)
    memory.forget(NAMED, store.caller.session)
    memory.prune(store.clock.now().timestamp() - 30 * 86_400)
    store.session_state.live.prune()
    _share_session(store.caller.session, agent)
    if not _takes_answer(agent, names.SESSION_START):
        return Reply(later=SYNC)
    handed = for_session_start(
        store, store.caller.agent or agent, int(store.settings.number("hooks.brief_budget"))
    )
    notes = "\n\n".join(part for part in (handed, brief(store, payload.cwd)) if part)
    if rules:
        notes = session_rules.write(rules, notes)
    rest = () if payload.source in ("resume", "fork") else (RULES, own_store_notice(store, payload.cwd))
    return Reply("\n\n".join(part for part in (*rest, notes) if part), SYNC)


def prompt(store: Store, payload: Payload, _agent: str) -> Reply:
    """Recall by the prompt of a person, if an answer is strong."""
    text = payload.prompt.strip()
    if payload.source not in _PERSON_SOURCES or len(text) < _SHORTEST_PROMPT or text.startswith("/"):
        return Reply()
    texts = (_recall_for_prompt(store, text, payload.cwd), _pending_question(store))
    return Reply("\n\n".join(part for part in texts if part))


def _recall_for_prompt(store: Store, text: str, working: str) -> str:
    """Return the entries for a prompt, first by the files that it names; "" for one that asks for nothing."""
    from engram.domain.agents.quiet_turns import asks_for_nothing

    if asks_for_nothing(text):
        return ""
    from engram.domain.agents.prompt_intent import split_sentences, threshold_for
    from engram.usecases.agents import auto_recall
    from engram.usecases.agents.captured_notes import append_captured

    files = _spellings_in_lore(store, working, command_signals.files_in(text))
    about = auto_recall.recall_for_files(store, files, above=True)
    found = auto_recall.recall_for_text(
        store, text, above=not about, named=True, bar=threshold_for(text), sentences=split_sentences(text),
        spent=tokens(about),
    )  # fmt: skip
    return append_captured(store, "\n\n".join(part for part in (about, found) if part), text)


def _pending_question(store: Store) -> str:
    """Return the feedback question that was deferred from the end of a turn, where it would have cost another turn; "" for none."""
    memory, session = HookMemory(store.state), store.caller.session
    if not memory.marked(LEFT, session):
        return ""
    memory.forget(LEFT, session)
    return _feedback_question(store)


def before_tool(store: Store, payload: Payload, _agent: str) -> Reply:
    """Recall by the moment, else by the files of the tool or command, else by the text of the command."""
    from engram.domain.agents.learned_moments import moments_of
    from engram.usecases.agents import auto_recall

    commands = command_signals.commands_of(payload.command)
    by_moment = _recall_by_moment(store, payload, commands)
    if by_moment:
        return Reply(by_moment)
    paths = payload.files or tuple(dict.fromkeys(path for one in commands for path in one.paths))
    found = auto_recall.recall_for_files(store, _spellings_in_lore(store, payload.cwd, paths))
    if found:
        return Reply(found)
    files = payload.files or tuple(dict.fromkeys(file for one in commands for file in one.files))[:_MAX_FILES]
    if files:
        named = tuple(os.path.basename(file) for file in files)
        return Reply(auto_recall.recall_for_text(store, " ".join(files), naming=named))
    questions = [one.question for one in commands if len(one.question.split()) >= _FEWEST_WORDS]
    if not questions:
        return Reply()
    moments = moments_of(payload.command)
    return Reply(auto_recall.recall_for_text(store, " ".join(questions), moments=moments))


def after_tool(store: Store, payload: Payload, agent: str) -> Reply:
    """Note what a tool did; recall for agents that have no event for failures or none before a tool."""
    if names.hook_of(agent, names.TOOL_FAILURE) is not None:  # so the tool succeeded
        _note_success(store, payload)
        return Reply()
    if payload.failed:
        return tool_failure(store, payload, agent)
    if payload.exit_unknown and payload.command and not payload.files and _complains(payload.output):
        found = _recall_for_error(store, payload)
        if found.text:
            return found
    else:
        _note_success(store, payload)
    if names.hook_of(agent, names.PRE_TOOL) is None:
        return before_tool(store, payload, agent)
    return Reply()


def tool_failure(store: Store, payload: Payload, _agent: str) -> Reply:
    """Recall by the moment and by the text of the error; note the failure."""
    if payload.interrupted:
        return Reply()
    found = _recall_for_error(store, payload)
    from engram.usecases.agents.tool_outcomes import note_failure

    note_failure(store, _use_of(payload), payload.error or payload.output)
    return found


def _complains(output: str) -> bool:
    from engram.domain.agents.error_lines import reports_error  # takes 2 ms of start-up

    return reports_error(output)


def _note_success(store: Store, payload: Payload) -> None:
    if not store.settings.flag("hooks.capture"):
        return
    from engram.usecases.agents.tool_outcomes import note_success

    use = _use_of(payload)
    if use.command or use.changed:
        note_success(store, use)


def _use_of(payload: Payload) -> Use:
    """Return the use of a tool: with its files if it changes files, else with its command."""
    from engram.adapters.agents.transcript import CHANGING
    from engram.usecases.agents.tool_outcomes import Use

    if payload.tool in CHANGING:
        return Use(payload.tool, changed=payload.files, working=payload.cwd)
    return Use(payload.tool, payload.command, working=payload.cwd)


def _recall_for_error(store: Store, payload: Payload) -> Reply:
    from engram.domain.agents.error_lines import find_error_and_details
    from engram.domain.agents.learned_moments import moments_of
    from engram.usecases.agents import auto_recall
    from engram.usecases.agents.captured_notes import append_captured

    summary, details = find_error_and_details(payload.error or payload.output)
    error = f"{payload.error}\n{payload.output}"
    by_moment = _recall_by_moment(store, payload, command_signals.commands_of(payload.command), error)
    by_text = auto_recall.recall_for_text(
        store, details, above=True, bar=_BAR_FOR_ERRORS, spent=tokens(by_moment),
        moments=moments_of(payload.command),
    )  # fmt: skip
    text = "\n\n".join(part for part in (by_moment, by_text) if part)
    return Reply(append_captured(store, text, summary, failures=False))


def _recall_by_moment(
    store: Store, payload: Payload, commands: Sequence[command_signals.Command], error: str = ""
) -> str:
    """Return the entries that have a moment which this event fits."""
    from engram.usecases.agents.moments import recall_at_moment

    def event() -> Event:
        from engram.domain.agents.moment_match import Event

        named = [*payload.files, *(path for one in commands for path in one.paths)]
        return Event(tuple(commands), _paths_from_top(payload.cwd, named), payload.tool, error)

    return recall_at_moment(store, event)


def subagent_start(store: Store, payload: Payload, _agent: str) -> Reply:
    """Return a smaller brief, since a subagent has a context of its own."""
    from engram.usecases.agents.brief import brief

    half = int(store.settings.number("hooks.brief_budget")) // 2
    return Reply(brief(store, payload.cwd, budget=half, most=4))


def task_completed(store: Store, payload: Payload, agent: str) -> Reply:
    """Hand in the description of a completed task."""
    return _hand_in(
        store, names.TASK_COMPLETED, payload._replace(last_message=payload.task_text, transcript=""), agent
    )


def subagent_stop(store: Store, payload: Payload, agent: str) -> Reply:
    """Hand in the last message of a subagent."""
    return _hand_in(store, names.SUBAGENT_STOP, payload._replace(transcript=""), agent)


def pre_compact(store: Store, payload: Payload, agent: str) -> Reply:
    """Hand in the session so far, before its context is compacted."""
    return _hand_in(store, names.PRE_COMPACT, payload, agent)


def session_end(store: Store, payload: Payload, agent: str) -> Reply:
    """Hand in the session; commit and sync in the background."""
    if not payload.transcript:
        paths = HookMemory(store.state).marked(TRANSCRIPT, store.caller.session)
        payload = payload._replace(transcript=next(iter(paths), ""))
    reply = _hand_in(store, names.SESSION_END, payload, agent)
    return reply._replace(later=SYNC)


def stop(store: Store, payload: Payload, agent: str) -> Reply:
    """Ask for feedback once a session; hand in the last message if the end of the session does not tell it.

    An answer at the end of a turn costs another turn, so for an agent that takes answers at prompts, the question waits
    for the next prompt.
    """
    hook = names.hook_of(agent, names.STOP)
    if payload.transcript:  # Copilot CLI names it only here
        HookMemory(store.state).mark(
            TRANSCRIPT, store.caller.session, payload.transcript, store.clock.now().timestamp()
        )
    reply = _hand_in(store, names.STOP, payload, agent) if hook is not None and hook.keeps else Reply()
    if payload.continued or not store.settings.flag("hooks.ask"):
        return reply
    if _takes_answer(agent, names.STOP):
        return reply._replace(text=_feedback_question(store))
    memory, session = HookMemory(store.state), store.caller.session
    if _takes_answer(agent, names.PROMPT) and not memory.marked(ASKED, session):
        memory.mark(LEFT, session, "feedback", store.clock.now().timestamp())
    return reply


EVENTS: Mapping[str, Callable[[Store, Payload, str], Reply]] = {
    names.SESSION_START: session_start,
    names.PROMPT: prompt,
    names.PRE_TOOL: before_tool,
    names.POST_TOOL: after_tool,
    names.TOOL_FAILURE: tool_failure,
    names.SUBAGENT_START: subagent_start,
    names.SUBAGENT_STOP: subagent_stop,
    names.TASK_COMPLETED: task_completed,
    names.PRE_COMPACT: pre_compact,
    names.STOP: stop,
    names.SESSION_END: session_end,
}


def _takes_answer(agent: str, event: str) -> bool:
    """Return whether the agent takes an answer at an event."""
    hook = names.hook_of(agent, event)
    return hook is not None and hook.form != names.NOTHING


def _feedback_question(store: Store) -> str:
    """Return the question which of the entries recalled in this session helped; "" if there are none or it was asked."""
    from engram.adapters.state.hook_memory import RECALLED

    memory, session = HookMemory(store.state), store.caller.session
    recalled = memory.marked(RECALLED, session)
    unjudged = [
        ref
        for ref in store.session_state.refs(session)
        if ref.id in recalled and not _is_judged(store, ref.id)
    ][:_MAX_ASKED]
    now = store.clock.now().timestamp()
    if not unjudged or not memory.is_on_disk or not memory.mark(ASKED, session, "feedback", now):
        return ""
    from engram.domain.agents.fence import frame_titles
    from engram.usecases.store import activity_log

    activity_log.note(store, "ask", ids=[ref.id for ref in unjudged])
    titles = frame_titles([(f"{ref.name} {ref.id}", ref.title) for ref in unjudged])
    return f"{QUESTION}\n{titles}"


def _is_judged(store: Store, lore_id: str) -> bool:
    from engram.domain.entry.confidence import KINDS

    return any(store.state.has_judged(store.caller.session, lore_id, kind) for kind in KINDS)


def _hand_in(store: Store, event: str, payload: Payload, agent: str) -> Reply:
    if not store.settings.flag("hooks.capture"):
        return Reply()
    from engram.usecases.agents.session_capture import Report, submit_report

    report = Report(
        event,
        agent,
        store.caller.session,
        payload.last_message,
        payload.task,
        payload.transcript,
        payload.cwd,
        whole=event == names.SESSION_END,
    )
    return Reply(later=TIDY if submit_report(store, report) else "")


def _paths_from_top(working: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return files as paths relative to the top of the repository; files outside it as absolute paths."""
    from engram.adapters.git.run.layout import find_repository

    if not files:
        return ()
    repository = find_repository(working)
    top = repository.worktree if repository else working
    found = []
    for file in files[:_MAX_MOMENT_FILES]:
        absolute = os.path.normpath(os.path.join(working, os.path.expanduser(file)))
        below = os.path.relpath(absolute, top)
        found.append((absolute if below.startswith("..") else below).replace(os.sep, "/"))
    return tuple(dict.fromkeys(found))


def _spellings_in_lore(store: Store, working: str, files: Sequence[str]) -> list[str]:
    """Return files as entries may name them: relative to the repository, the store or the working folder."""
    if not files:
        return []
    from engram.adapters.git.run.layout import find_repository

    repository = find_repository(working)
    tops = [working, store.places.root, *([repository.worktree] if repository else [])]
    found = []
    for file in files[:_MAX_FILES]:
        absolute = os.path.normpath(os.path.join(working, os.path.expanduser(file)))
        for top in tops:
            below = os.path.relpath(absolute, top)
            if not below.startswith(".."):
                found.append(below.replace(os.sep, "/"))
    return list(dict.fromkeys(found))


def _share_session(session: str, agent: str) -> None:
    """Tell the commands that the agent runs later their session, through the file that Claude Code offers for that."""
    path = os.environ.get("CLAUDE_ENV_FILE")
    if not path or agent != "claude-code":
        return
    import shlex
    from contextlib import suppress

    line = f"export ENGRAM_SESSION={shlex.quote(session)} ENGRAM_AGENT={agent}\n"
    with suppress(OSError), open(path, "a", encoding="utf-8") as file:
        file.write(line)
