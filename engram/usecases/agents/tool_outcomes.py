"""Capture commands that fail in a session, and the changes after which they pass, as captured entries.

A hook is called after every tool, so the usual case, a tool that succeeds, only reads the session's marks. At most four
failures a session and thirty in all are kept, each for two weeks, private to this clone. A failure becomes an
observation when the same command (program and subcommand) passes.
"""

from __future__ import annotations

import os

from engram.adapters.state.hook_memory import CHANGED, FAILED, PASSED, SHOWN, HookMemory
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.code_repository import relative_to_top

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

MOST_A_SESSION = 4
MOST = 30
_MOST_FILES = 8
_CONFIDENCE = 0.4
_MCP_PREFIX = "mcp__"  # of the names of MCP servers' tools


class Use(NamedTuple):
    """The use of a tool: its name, its command line ("" for none), the files it changed, the folder it ran in."""

    tool: str
    command: str = ""
    changed: tuple[str, ...] = ()
    working: str = ""


def note_failure(store: Store, use: Use, output: str) -> None:
    """Keep the failure of a command, or of another MCP server's tool, if its output states an error. Raises StoreError."""
    if use.changed or not store.settings.flag("hooks.capture"):
        return
    keys = _keys(use)
    memory, session = HookMemory(store.state), store.caller.session
    open_ = _open_failures(memory, session)
    if not keys or not memory.is_on_disk or open_.keys() & keys.keys():
        return  # repeated failures count as the first
    content = _content(store, [*keys.values()][-1], output)
    if not content or len({_id(mark) for mark in memory.marked(FAILED, session)}) >= MOST_A_SESSION:
        return
    lore_id = _keep(store, content)
    now = store.clock.now().timestamp()
    for key in keys if lore_id else ():
        memory.mark(FAILED, session, f"{key}\n{lore_id}", now)
    if lore_id:
        memory.mark(SHOWN, session, lore_id, now)  # this session has seen the failure itself


def note_success(store: Store, use: Use) -> None:
    """Note the files that a tool changed, or that a command passed after a failure in this session. Raises StoreError."""
    memory, session = HookMemory(store.state), store.caller.session
    if use.changed:
        for file in use.changed[:_MOST_FILES]:
            memory.mark(CHANGED, session, file, store.clock.now().timestamp(), anew_after=0.0)
        return
    open_ = _open_failures(memory, session)
    passed = [open_[key] for key in _keys(use) if key in open_] if open_ else []
    for lore_id, failed_at in dict.fromkeys(passed):
        if memory.mark(PASSED, session, lore_id, store.clock.now().timestamp()):
            changed = memory.marked_since(CHANGED, session, failed_at)
            _resolve(store, lore_id, relative_to_top(use.working or os.getcwd(), changed)[-_MOST_FILES:])


def _keys(use: Use) -> Mapping[str, str]:
    """Return the keys by which uses of a tool are paired, with their names."""
    from engram.domain.agents.fixes import keys_of

    if use.tool.startswith(_MCP_PREFIX):
        return {use.tool: use.tool}
    return {" ".join(key).strip(): name for key, name in keys_of(use.command).items()}


def _open_failures(memory: HookMemory, session: str) -> dict[str, tuple[str, float]]:
    """Return the failures of a session whose command has not passed since: the id and time of each, by key."""
    failed = memory.times(FAILED, session)
    passed = memory.marked(PASSED, session) if failed else set()
    return {
        mark.partition("\n")[0]: (_id(mark), at) for mark, at in failed.items() if _id(mark) not in passed
    }


def _id(mark: str) -> str:
    return mark.partition("\n")[2]


def _content(store: Store, name: str, output: str) -> str:
    """Describe a failure, secrets masked; "" if the output states no error."""
    from engram.domain.admission.secrets import find_secrets, redact
    from engram.domain.agents.error_lines import find_identifying_error, reports_error
    from engram.domain.agents.fence import remove_frames
    from engram.domain.agents.fixes import describe_failure

    output = remove_frames(output)
    if not reports_error(output):
        return ""
    text = f"Seen: {describe_failure(name, find_identifying_error(output).removeprefix('E '))}"
    return redact(text, find_secrets(text, store.allowed_secrets))


def _keep(store: Store, content: str) -> str:
    """Keep a failure, unless an earlier session kept the same one; return the id of the entry, "" if it is refused."""
    from engram.domain.errors import ConflictError, EngramError, StoreError
    from engram.usecases.recording.record import Draft, prepare
    from engram.usecases.store import activity_log, captured

    known = [lore for lore in captured.list_captured(store) if captured.is_outcome(lore)]
    same = next((lore for lore in known if _line(lore) == content), None)
    if same is not None:
        return same.id
    draft = Draft(
        content, "FAILURE", context=(f"{captured.CONTEXT}tool-failure",), confidence=_CONFIDENCE,
        tags=(captured.ORIGIN, captured.OUTCOME), agent=store.caller.agent, redact=True,
    )  # fmt: skip
    try:
        lore = captured.keep(store, prepare(store, draft)[0])
    except (ConflictError, StoreError):
        raise
    except EngramError:
        return ""
    for old in known[MOST - 1 :]:
        captured.drop(store, old.id)
    activity_log.note(store, "capture", query=content[:200], details={"kept": 1})
    return lore.id


def _resolve(store: Store, lore_id: str, files: Sequence[str]) -> None:
    """Turn a failure into the observation that the same command passed, and after which changes it did."""
    from engram.usecases.store import captured

    lore = captured.find(store, lore_id)
    if lore is None:
        return
    names = ", ".join(f"`{file}`" for file in files)
    ended = f"It passed after changes to {names}." if files else "It passed later with no file changed."
    captured.keep(
        store, lore._replace(content=f"{_line(lore)}\n\n{ended}", category="OBSERVATION", files=tuple(files))
    )


def _line(lore: Lore) -> str:
    """Return the line that describes the failure."""
    return lore.content.partition("\n")[0]
