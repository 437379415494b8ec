"""What Engram does at each event of an agent. Each returns the text to put before the agent's model, or ""."""

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
_PEOPLE = ("", "user")
_FORGETFUL = ("compact", "clear")  # after these an agent's context is empty of what it was shown
# Of what an answer to a question needs: an error names what it is about, and is rarely one that nobody could know of.
_FOR_ERRORS = 0.44
_FEWEST_WORDS = 3  # of a command: its program and one or two common words are found everywhere
_MOST_ASKED = 5
_MOST_FILES = 4
_MOST_MOMENT_FILES = 20
QUESTION = (
    "Engram showed notes in this session, which are named below. Say once which of them helped, were wrong or were "
    "not relevant, with the tool recall_feedback or `engram feedback --helpful … --incorrect … --not-relevant …`, "
    "beside what else you do."
)


class Reply(NamedTuple):
    """What an event came to: a text for the model, and what a detached process is to do ("" for nothing)."""

    text: str = ""
    later: str = ""


def session_start(store: Store, payload: Payload, agent: str) -> Reply:
    """Return the brief and the rules of use; a sync in the background. What an agent still has before it is not said again."""
    from engram.usecases.agents import session_rules
    from engram.usecases.agents.brief import RULES, brief
    from engram.usecases.agents.handoffs import for_session_start
    from engram.usecases.opening.open_store import own_store_notice

    memory, rules = HookMemory(store.state), session_rules.place(agent, payload.cwd)
    if payload.source in _FORGETFUL or rules:  # what a file said before is replaced
        memory.forget(SHOWN, store.caller.session)
        memory.forget(MOMENT, store.caller.session)
    memory.forget(NAMED, store.caller.session)
    memory.prune(store.clock.now().timestamp() - 30 * 86_400)
    store.session_state.live.prune()
    _share_session(store.caller.session, agent)
    if not _is_heard(agent, names.SESSION_START):
        return Reply(later=SYNC)
    handed = for_session_start(
        store, store.caller.agent or agent, int(store.settings.number("hooks.brief_budget"))
    )
    notes = "\n\n".join(part for part in (handed, brief(store, payload.cwd)) if part)
    if rules:
        notes = session_rules.put(rules, notes)
    rest = () if payload.source in ("resume", "fork") else (RULES, own_store_notice(store, payload.cwd))
    return Reply("\n\n".join(part for part in (*rest, notes) if part), SYNC)


def prompt(store: Store, payload: Payload, _agent: str) -> Reply:
    """Recall by what a person asked, where an answer is strong."""
    text = payload.prompt.strip()
    if payload.source not in _PEOPLE or len(text) < _SHORTEST_PROMPT or text.startswith("/"):
        return Reply()
    texts = (_answers(store, text, payload.cwd), _pending_question(store))
    return Reply("\n\n".join(part for part in texts if part))


def _answers(store: Store, text: str, working: str) -> str:
    """Return what a person's prompt brings, first by the files that it names; "" for one that asks for nothing."""
    from engram.domain.agents.quiet_turns import asks_for_nothing

    if asks_for_nothing(text):
        return ""
    from engram.domain.agents.prompt_intent import bar_of, sentences_of
    from engram.usecases.agents import auto_recall
    from engram.usecases.agents.captured_notes import with_captured

    files = _as_lore_name_them(store, working, command_signals.files_in(text))
    about = auto_recall.by_files(store, files, above=True)
    found = auto_recall.by_text(
        store, text, above=not about, named=True, bar=bar_of(text), sentences=sentences_of(text),
        spent=tokens(about),
    )  # fmt: skip
    return with_captured(store, "\n\n".join(part for part in (about, found) if part), text)


def _pending_question(store: Store) -> str:
    """Return the question that the end of a turn left for this prompt, where it costs no turn of its own; "" for none."""
    memory, session = HookMemory(store.state), store.caller.session
    if not memory.marked(LEFT, session):
        return ""
    memory.forget(LEFT, session)
    return _question(store)


def before_tool(store: Store, payload: Payload, _agent: str) -> Reply:
    """Recall by the moment, else by the files that a tool is called for or a command names, else by what the command does."""
    from engram.domain.agents.learned_moments import moments_of
    from engram.usecases.agents import auto_recall

    commands = command_signals.commands_of(payload.command)
    at_moment = _at_moment(store, payload, commands)
    if at_moment:
        return Reply(at_moment)
    paths = payload.files or tuple(dict.fromkeys(path for one in commands for path in one.paths))
    found = auto_recall.by_files(store, _as_lore_name_them(store, payload.cwd, paths))
    if found:
        return Reply(found)
    files = (
        payload.files or tuple(dict.fromkeys(file for one in commands for file in one.files))[:_MOST_FILES]
    )
    if files:
        named = tuple(os.path.basename(file) for file in files)
        return Reply(auto_recall.by_text(store, " ".join(files), naming=named))
    asked = [one.question for one in commands if len(one.question.split()) >= _FEWEST_WORDS]
    if not asked:
        return Reply()
    moments = moments_of(payload.command)
    return Reply(auto_recall.by_text(store, " ".join(asked), moments=moments))


def after_tool(store: Store, payload: Payload, agent: str) -> Reply:
    """Note what a tool did; recall for agents without an event of failure of their own, or without one before a tool."""
    if names.hook_of(agent, names.TOOL_FAILURE) is not None:  # so this one did its work
        _note_success(store, payload)
        return Reply()
    if payload.failed:
        return tool_failure(store, payload, agent)
    if payload.untold and payload.command and not payload.files and _complains(payload.output):
        found = _about_error(store, payload)
        if found.text:
            return found
    else:
        _note_success(store, payload)
    if names.hook_of(agent, names.PRE_TOOL) is None:
        return before_tool(store, payload, agent)
    return Reply()


def tool_failure(store: Store, payload: Payload, _agent: str) -> Reply:
    """Recall by the moment, and by the text of the error; note what failed."""
    if payload.interrupted:
        return Reply()
    found = _about_error(store, payload)
    from engram.usecases.agents.tool_outcomes import note_failure

    note_failure(store, _use(payload), payload.error or payload.output)
    return found


def _complains(output: str) -> bool:
    from engram.domain.agents.error_lines import (
        complains,
    )  # two milliseconds of start-up that a prompt has no use for

    return complains(output)


def _note_success(store: Store, payload: Payload) -> None:
    if not store.settings.flag("hooks.capture"):
        return
    from engram.usecases.agents.tool_outcomes import note_success

    use = _use(payload)
    if use.command or use.changed:
        note_success(store, use)


def _use(payload: Payload) -> Use:
    """Return the tool that was used: one that changes files by those, any other by its command."""
    from engram.adapters.agents.transcript import CHANGING
    from engram.usecases.agents.tool_outcomes import Use

    if payload.tool in CHANGING:
        return Use(payload.tool, changed=payload.files, working=payload.cwd)
    return Use(payload.tool, payload.command, working=payload.cwd)


def _about_error(store: Store, payload: Payload) -> Reply:
    from engram.domain.agents.error_lines import error_and_details
    from engram.domain.agents.learned_moments import moments_of
    from engram.usecases.agents import auto_recall
    from engram.usecases.agents.captured_notes import with_captured

    named, detailed = error_and_details(payload.error or payload.output)
    error = f"{payload.error}\n{payload.output}"
    at_moment = _at_moment(store, payload, command_signals.commands_of(payload.command), error)
    found = auto_recall.by_text(
        store, detailed, above=True, bar=_FOR_ERRORS, spent=tokens(at_moment),
        moments=moments_of(payload.command),
    )  # fmt: skip
    said = "\n\n".join(part for part in (at_moment, found) if part)
    return Reply(with_captured(store, said, named, failures=False))


def _at_moment(
    store: Store, payload: Payload, commands: Sequence[command_signals.Command], error: str = ""
) -> str:
    """Return the entries whose moment this event is."""
    from engram.usecases.agents.moments import at_moment

    def event() -> Event:
        from engram.domain.agents.moment_match import Event

        named = [*payload.files, *(path for one in commands for path in one.paths)]
        return Event(tuple(commands), _from_the_top(payload.cwd, named), payload.tool, error)

    return at_moment(store, event)


def subagent_start(store: Store, payload: Payload, _agent: str) -> Reply:
    """Return a smaller brief: a subagent has a context of its own."""
    from engram.usecases.agents.brief import brief

    half = int(store.settings.number("hooks.brief_budget")) // 2
    return Reply(brief(store, payload.cwd, budget=half, most=4))


def task_completed(store: Store, payload: Payload, agent: str) -> Reply:
    """Hand in what a completed task was about."""
    return _hand_in(
        store, names.TASK_COMPLETED, payload._replace(said=payload.task_text, transcript=""), agent
    )


def subagent_stop(store: Store, payload: Payload, agent: str) -> Reply:
    """Hand in what a subagent said last."""
    return _hand_in(store, names.SUBAGENT_STOP, payload._replace(transcript=""), agent)


def pre_compact(store: Store, payload: Payload, agent: str) -> Reply:
    """Hand in what was said so far, before it is forgotten."""
    return _hand_in(store, names.PRE_COMPACT, payload, agent)


def session_end(store: Store, payload: Payload, agent: str) -> Reply:
    """Hand in what was said; commits and sync happen in the background."""
    if not payload.transcript:
        named = HookMemory(store.state).marked(TRANSCRIPT, store.caller.session)
        payload = payload._replace(transcript=next(iter(named), ""))
    reply = _hand_in(store, names.SESSION_END, payload, agent)
    return reply._replace(later=SYNC)


def stop(store: Store, payload: Payload, agent: str) -> Reply:
    """Ask once a session what was of use; where the end of a session tells nothing, hand in what the agent said.

    An agent that is told something at the end of a turn takes another one. Where it listens at prompts, the question waits
    for the next.
    """
    hook = names.hook_of(agent, names.STOP)
    if payload.transcript:  # Copilot CLI names it here alone
        HookMemory(store.state).mark(
            TRANSCRIPT, store.caller.session, payload.transcript, store.clock.now().timestamp()
        )
    reply = _hand_in(store, names.STOP, payload, agent) if hook is not None and hook.keeps else Reply()
    if payload.continued or not store.settings.flag("hooks.ask"):
        return reply
    if _is_heard(agent, names.STOP):
        return reply._replace(text=_question(store))
    memory, session = HookMemory(store.state), store.caller.session
    if _is_heard(agent, names.PROMPT) and not memory.marked(ASKED, session):
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


def _is_heard(agent: str, event: str) -> bool:
    """Return whether the agent takes what is said at an event."""
    hook = names.hook_of(agent, event)
    return hook is not None and hook.form != names.NOTHING


def _question(store: Store) -> str:
    """Return which of the lore that recall put before this session helped; "" where there is nothing to ask, or it was asked."""
    from engram.adapters.state.hook_memory import RECALLED

    memory, session = HookMemory(store.state), store.caller.session
    recalled = memory.marked(RECALLED, session)
    open_ = [
        ref
        for ref in store.session_state.refs(session)
        if ref.id in recalled and not _is_judged(store, ref.id)
    ][:_MOST_ASKED]
    now = store.clock.now().timestamp()
    if not open_ or not memory.is_on_disk or not memory.mark(ASKED, session, "feedback", now):
        return ""
    from engram.domain.agents.fence import frame_titles
    from engram.usecases.store import activity_log

    activity_log.note(store, "ask", ids=[ref.id for ref in open_])
    named = frame_titles([(f"{ref.name} {ref.id}", ref.title) for ref in open_])
    return f"{QUESTION}\n{named}"


def _is_judged(store: Store, lore_id: str) -> bool:
    from engram.domain.entry.confidence import KINDS

    return any(store.state.has_judged(store.caller.session, lore_id, kind) for kind in KINDS)


def _hand_in(store: Store, event: str, payload: Payload, agent: str) -> Reply:
    if not store.settings.flag("hooks.capture"):
        return Reply()
    from engram.usecases.agents.session_capture import Report, hand_in

    report = Report(
        event,
        agent,
        store.caller.session,
        payload.said,
        payload.task,
        payload.transcript,
        payload.cwd,
        whole=event == names.SESSION_END,
    )
    return Reply(later=TIDY if hand_in(store, report) else "")


def _from_the_top(working: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return files as paths from the top of the repository around the folder; others as they are, from the root."""
    from engram.adapters.git.run.layout import find_repository

    if not files:
        return ()
    repository = find_repository(working)
    top = repository.worktree if repository else working
    found = []
    for file in files[:_MOST_MOMENT_FILES]:
        absolute = os.path.normpath(os.path.join(working, os.path.expanduser(file)))
        below = os.path.relpath(absolute, top)
        found.append((absolute if below.startswith("..") else below).replace(os.sep, "/"))
    return tuple(dict.fromkeys(found))


def _as_lore_name_them(store: Store, working: str, files: Sequence[str]) -> list[str]:
    """Return files in the spellings that lore may have: from the repository's top, from the folder."""
    if not files:
        return []
    from engram.adapters.git.run.layout import find_repository  # most prompts name no file

    repository = find_repository(working)
    tops = [working, store.places.root, *([repository.worktree] if repository else [])]
    found = []
    for file in files[:_MOST_FILES]:
        absolute = os.path.normpath(os.path.join(working, os.path.expanduser(file)))
        for top in tops:
            below = os.path.relpath(absolute, top)
            if not below.startswith(".."):
                found.append(below.replace(os.sep, "/"))
    return list(dict.fromkeys(found))


def _share_session(session: str, agent: str) -> None:
    """Let the commands that the agent runs later know the session, where it offers a file for that (Claude Code)."""
    path = os.environ.get("CLAUDE_ENV_FILE")
    if not path or agent != "claude-code":
        return
    import shlex
    from contextlib import suppress

    line = f"export ENGRAM_SESSION={shlex.quote(session)} ENGRAM_AGENT={agent}\n"
    with suppress(OSError), open(path, "a", encoding="utf-8") as file:
        file.write(line)
