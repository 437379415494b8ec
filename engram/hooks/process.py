"""Run a hook as a process that always exits with 0 and in time, whatever its input, and prints only its answer.

An agent waits for its hooks, and takes any other exit code for an error or even a refusal.
"""

from __future__ import annotations

import _thread
import os
import sys

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from engram.hooks.payload import Payload
    from engram.usecases.store.store import Store

SECONDS = 0.85  # for events that delay each step of an agent
_SECONDS_OF_EVENT = {
    "session-start": 4.0,
    "subagent-start": 2.0,
    "stop": 2.0,
    "subagent-stop": 1.2,
    "task-completed": 1.2,
    "pre-compact": 1.2,
    "session-end": 1.2,
}
_SAME_EVENT_SECONDS = 5.0  # two configuration files fire the same event at about the same time
_COMPACTING_SECONDS = 600.0  # Gemini CLI announces a compression before each request to its model


class Call(NamedTuple):
    """The call of a hook: the agent's folder, the event, who calls, and the store and scope named ("" for none)."""

    cwd: str
    event: str
    agent: str
    session: str
    path: str = ""
    scope: str = ""


class Deadline:
    """Ends the process with exit code 0 when its time is up, unless cancelled."""

    def __init__(self, seconds: float) -> None:
        """Start the timer."""
        self.call: Call | None = None
        self._done = _thread.allocate_lock()
        self._done.acquire()
        _thread.start_new_thread(self._watch, (seconds,))

    def cancel(self) -> None:
        """Stop the timer."""
        self._done.release()

    def _watch(self, seconds: float) -> None:
        if not self._done.acquire(timeout=seconds):
            if self.call is not None:  # finish the slow work, such as building the index, in the background
                from engram.usecases.store.detached_process import start_detached

                start_detached(*self.call, str(round(seconds * 1000)), module="engram.hooks.hook_timeout")
            os._exit(0)


def run_guarded(run: Callable[[], int], arguments: list[str]) -> int:
    """Run a hook and return its exit code; an error becomes a line in the activity log.

    ENGRAM_TRACEBACK lets errors through.
    """
    global _deadline  # noqa: PLW0603 - one process, one hook
    deadline = _deadline = Deadline(_time_limit(arguments))
    try:
        return run()
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("ENGRAM_TRACEBACK"):
            raise
        if deadline.call is not None and not isinstance(error, KeyboardInterrupt):
            _note_failure(deadline.call, error)
        if "--json" in arguments:
            leave("{}\n")
        return 0
    finally:
        _deadline = None
        deadline.cancel()


def _note_failure(call: Call, error: Exception) -> None:
    """Note the failure in the activity log, for `doctor` and `live`, if there is a store."""
    from contextlib import suppress

    from engram.usecases.agents import hook_failures

    with suppress(Exception):
        store = open_for(call)
        if store is not None:
            hook_failures.log_failure(store, error)
            store.close()


_deadline: Deadline | None = None


def respond(given: argparse.Namespace) -> dict[str, object] | None:
    """Return the answer to the event on standard input; None for none. Raises EngramError."""
    from engram.adapters.agents.hook_events import hook_of
    from engram.hooks.payload import parse, read_input

    payload = parse(read_input(sys.stdin.buffer))
    if payload is None:
        return None
    agent = _calling_agent(given.agent, payload)
    hook = hook_of(agent, given.event)
    if hook is None:
        return None
    from engram.hooks.answers import answer

    return answer(hook, _text_for(given, payload, agent))


def _text_for(given: argparse.Namespace, payload: Payload, agent: str) -> str:
    """Return the text for the agent's model; "" if another process answers this event already."""
    from engram.hooks.events import EVENTS
    from engram.usecases.store.detached_process import start_detached

    payload = payload._replace(cwd=payload.cwd if os.path.isabs(payload.cwd) else os.getcwd())
    call = _call_of(given, payload, agent)
    if _deadline is not None:
        _deadline.call = call
    store = open_for(call)
    if store is None:
        return _text_without_store(given.event, payload)
    try:
        if not _claim_event(store, given.event, payload):
            return ""
        reply = EVENTS[given.event](store, payload, agent)
        if reply.later and os.environ.get("ENGRAM_BACKGROUND") != "inline":
            start_detached(store.places.root, reply.later, module="engram.hooks.hook_process")
        return reply.text
    finally:
        store.close()


def _call_of(given: argparse.Namespace, payload: Payload, agent: str) -> Call:
    from engram.adapters.agents.session import session_name

    session = payload.session[:120] or session_name(os.environ)
    if payload.subagent and given.event == "subagent-start":
        session = f"{session}/{payload.subagent}"[:160]
    path = os.path.abspath(os.path.expanduser(given.store)) if given.store else ""
    return Call(payload.cwd, given.event, agent, session, path, given.scope[0] if given.scope else "")


def open_for(call: Call) -> Store | None:
    """Open the store of the folder that the agent works in; None if there is none. A hook makes no store."""
    from engram.adapters.files import places
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.opening.store_layout import enclosing_store
    from engram.usecases.store.store import Caller

    start = os.environ.get("ENGRAM_STORE") or None
    own = os.path.join(places.user_store(), places.CONFIG_NAME)
    if not (call.path or start or enclosing_store(call.cwd) or os.path.isfile(own)):
        return None
    caller = Caller(call.session, call.agent, f"hook {call.event}")
    store = open_store(call.path or None, caller, scope=call.scope, working=call.cwd, start=start)
    store.watchable = False  # watching for changes does not pay in a process that ends soon
    return store


def _text_without_store(event: str, payload: Payload) -> str:
    """Return how to begin a store, at the start of a session; "" at other events."""
    if event != "session-start" or payload.source in ("resume", "fork"):
        return ""
    from engram.usecases.agents.brief import RULES
    from engram.usecases.opening.open_store import branch_notice

    return "\n\n".join(part for part in (RULES, branch_notice(payload.cwd)) if part)


def _claim_event(store: Store, event: str, payload: Payload) -> bool:
    """Return whether this process is the first to handle the event: some agents also run the hooks of another agent."""
    from zlib import crc32  # loaded anyway; a digest takes 3 ms of start-up

    from engram.adapters.state.hook_memory import ANSWERED, HookMemory

    about = "\0".join(
        (payload.prompt, payload.call or payload.command, payload.error, payload.last_message, *payload.files)
    )
    key = f"{event} {payload.source or payload.trigger} {crc32(about.encode()):x} {len(about)}"
    now, seconds = store.clock.now().timestamp(), _SAME_EVENT_SECONDS
    if event == "pre-compact" and payload.trigger == "auto":
        seconds = _COMPACTING_SECONDS
    return HookMemory(store.state).mark(ANSWERED, store.caller.session, key, now, anew_after=seconds)


def _calling_agent(named: str, payload: Payload) -> str:
    """Return the agent that really calls: VS Code runs Claude Code's hooks, but with its own names in the payload."""
    return "vscode" if named == "claude-code" and payload.camel_case else named


def _time_limit(arguments: list[str]) -> float:
    """Return how long a hook may take, in seconds."""
    try:
        chosen = float(os.environ.get("ENGRAM_HOOK_SECONDS", ""))
    except ValueError:
        chosen = 0.0
    event = next((word for word in arguments if word in _SECONDS_OF_EVENT), "")
    return chosen if chosen > 0 else _SECONDS_OF_EVENT.get(event, SECONDS)


def leave(text: str) -> None:
    """Print an answer at once: a partial one would be worse than none."""
    sys.stdout.write(text)
    sys.stdout.flush()
