"""The payload of an event, read from an agent's JSON by one table of names.

Agents name the same things differently, but no name means two things, so one table serves all of them, including an
agent that runs the hooks of another's configuration file.
"""

from __future__ import annotations

import json
import re

from engram.adapters.agents.transcript import files_of_patch
from engram.domain.agents.fence import remove_hook_context
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

LARGEST = 4 * 1024 * 1024  # bytes of a payload that are parsed: the head and tail of a larger one
_BLOCK = 1 << 20
_LONGEST = 20_000  # characters of a text that are kept: the head and tail of a longer output
_CUT = b"\\n\\u2026\\n"  # in JSON: where bytes are missing
_ESCAPE = 6  # bytes of the longest escape in a JSON string
_MARKS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\]]', re.DOTALL)
_OUTPUTS = ("error", "output")
_MOST_FILES = 20

# Our name of a field: the paths at which agents have it; the first one found counts. A dot descends into an object, also
# into one that is encoded as a JSON string.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "session": ("session_id", "conversation_id", "sessionId", "trajectory_id"),
    "cwd": ("cwd", "workspace_roots.0", "tool_info.cwd", "working_dir"),
    "prompt": ("prompt", "tool_info.user_prompt"),
    "source": ("source",),
    "tool": ("tool_name", "toolName"),
    "call": ("tool_use_id",),
    "command": (
        "tool_input.command", "toolArgs.command", "command", "tool_info.command_line",
    ),
    "error": (
        "error.message", "error", "tool_response.error.message", "tool_response.error", "tool_response.stderr",
        "tool_output.stderr", "tool_output.error",
    ),
    "output": (
        "tool_response.output", "tool_response.stdout", "tool_response.llmContent", "tool_response",
        "tool_output.output", "tool_output", "toolResult.textResultForLlm",
    ),
    "last_message": ("last_assistant_message", "response", "prompt_response", "tool_info.response"),
    "task": ("task_subject",),
    "task_text": ("task_description",),
    "transcript": ("agent_transcript_path", "transcript_path", "transcriptPath"),
    "subagent": ("agent_id", "agentName"),
    "trigger": ("trigger", "reason"),
}  # fmt: skip
_FILES = (
    "tool_input.file_path", "tool_input.filePath", "tool_input.path", "tool_input.notebook_path",
    "tool_input.absolute_path", "toolArgs.path", "toolArgs.filePath", "tool_info.file_path", "file_path",
)  # fmt: skip
_EXITS = (
    "tool_response.exit_code", "tool_response.exitCode", "tool_response.metadata.exit_code", "tool_output.exitCode",
    "tool_output.exit_code",
)  # fmt: skip
# How agents state the exit code of a command in a tool's output: Gemini CLI, Copilot CLI, Claude Code.
_EXIT_IN_OUTPUT = re.compile(r"(?:^Exit Code: |completed with exit code |^Exit code )(\d+)", re.MULTILINE)


class Payload(NamedTuple):
    """One event. Texts are "" if the agent gave none; `failed` says that the tool reported a failure.

    `exit_unknown` says that the agent did not report how a command ended (Codex passes on its output alone), and
    `camel_case` that the payload has the names of VS Code.
    """

    session: str = ""
    cwd: str = ""
    prompt: str = ""
    source: str = ""
    tool: str = ""
    call: str = ""
    command: str = ""
    error: str = ""
    output: str = ""
    last_message: str = ""
    task: str = ""
    task_text: str = ""
    transcript: str = ""
    subagent: str = ""
    trigger: str = ""
    files: tuple[str, ...] = ()
    failed: bool = False
    exit_unknown: bool = False
    interrupted: bool = False
    continued: bool = False
    camel_case: bool = False


class Input(NamedTuple):
    """The bytes of a payload; of one that is too large its head and tail."""

    head: bytes
    tail: bytes = b""


def read_input(stream: BinaryIO) -> Input:
    """Read a stream to its end and return all of it, or its head and tail.

    An agent whose pipe is not read to its end would fail or wait.
    """
    head, tail = bytearray(), bytearray()
    while part := stream.read(_BLOCK):
        room = LARGEST - len(head)
        head += part[:room]
        tail += part[room:]
        del tail[: -LARGEST // 2]
    if not tail:
        return Input(bytes(head))
    return Input(bytes(head[: LARGEST // 2]), bytes((head[LARGEST // 2 :] + tail)[-LARGEST // 2 :]))


def parse(given: Input) -> Payload | None:
    """Return the payload; None if the bytes are not a JSON object."""
    found = _parse_parts(given) if given.tail else _decode(given.head)
    if not isinstance(found, dict):
        return None
    texts = {name: _text(found, places, is_output=name in _OUTPUTS) for name, places in _TEXTS.items()}
    texts["prompt"] = remove_hook_context(texts["prompt"])
    exits = [value for value in (_value(found, place) for place in _EXITS) if isinstance(value, int)]
    exits = exits or [int(code) for code in _EXIT_IN_OUTPUT.findall(texts["output"])]
    failed = bool(texts["error"]) and not exits
    failed = failed or any(exits) or _value(found, "toolResult.resultType") == "failure"
    return Payload(
        **texts,
        files=_files(found, texts["command"]),
        failed=failed,
        exit_unknown=not exits and not texts["error"],
        interrupted=_value(found, "is_interrupt") is True,
        continued=_value(found, "stop_hook_active") is True,
        camel_case="hookEventName" in found,
    )


def _decode(raw: bytes | str) -> object:
    try:
        return json.loads(raw if isinstance(raw, str) else raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


def _parse_parts(given: Input) -> object:
    """Return the JSON value of head and tail; of the head alone if the two are not parts of one long string."""
    closing = _closing(given.head)
    ends = (b'"', b"", b'":null', b":null", b"null", b'"":null')
    for cut in range(_ESCAPE):  # the head may end within an escape
        head = given.head[: len(given.head) - cut]
        found = next((found for end in ends if (found := _decode(head + end + closing)) is not None), None)
        if found is not None:
            joined = (_decode(head + _CUT + given.tail[start:]) for start in range(_ESCAPE))
            return next((one for one in joined if one is not None), found)
    return None


def _closing(head: bytes) -> bytes:
    """Return the brackets that close the objects and lists that are open at the end."""
    closing = list[bytes]()
    for mark in _MARKS.finditer(head):
        if mark[0] in b"{[":
            closing.append(b"}" if mark[0] == b"{" else b"]")
        elif mark[0] in b"}]" and closing:
            closing.pop()
    return b"".join(reversed(closing))


def _files(found: dict[str, object], command: str) -> tuple[str, ...]:
    """Return the files that a tool is called for, including those of a patch."""
    named = [_value(found, place) for place in _FILES]
    files = [name[:1000] for name in named if isinstance(name, str) and name]
    return tuple(dict.fromkeys([*files, *files_of_patch(command)]))[:_MOST_FILES]


def _text(found: dict[str, object], places: tuple[str, ...], *, is_output: bool) -> str:
    for place in places:
        value = _value(found, place)
        if isinstance(value, str) and value.strip():
            if is_output and len(value) > _LONGEST:
                value = f"{value[: _LONGEST // 2]}\n…\n{value[-_LONGEST // 2 :]}"
            return value[:_LONGEST].encode("utf-8", "replace").decode()
    return ""


def _value(found: object, place: str) -> object:
    for name in place.split("."):
        if isinstance(found, str) and found[:1] == "{":
            found = _decode(found)
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found
