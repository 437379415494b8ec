"""The steps of a session, in order: prompts and replies, commands with their outcomes, changed files.

They are read from the end of a transcript in the format of Claude Code: tool calls (`tool_use`) and their results
(`tool_result`, `is_error`). Anything else is skipped.
"""

from __future__ import annotations

import re

from engram.adapters.agents import transcript
from engram.domain.agents.fixes import ASKED, CHANGED, PASSED, SAID, Step
from engram.domain.agents.fixes import FAILED as FAILED_STEP
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHELLS = ("Bash", "bash", "shell", "run_shell_command")
_EXIT = re.compile(r"\A\W{0,12}(?:Error: )?Exit code:? (\d+)", re.IGNORECASE)
_LONGEST = 20_000  # characters of an output


def read(path: str) -> list[Step]:
    """Return the steps of the transcript at `path`; none if it cannot be read."""
    return list(_steps(transcript.lines(path)))


def _steps(lines: Iterable[dict[str, object]]) -> Iterator[Step]:
    commands: dict[str, str] = {}
    for line in lines:
        message = line.get("message")
        if line.get("isSidechain") is True or line.get("isMeta") is True or not isinstance(message, dict):
            continue
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                yield from _steps_of_block(message.get("role") == "assistant", block, commands)


def _steps_of_block(by_agent: bool, block: dict[str, object], commands: dict[str, str]) -> Iterator[Step]:
    kind, call = block.get("type"), str(block.get("id") or block.get("tool_use_id") or "")
    if kind == "text":
        text = str(block.get("text") or "")
        if by_agent or (text := transcript.prompt_in(text)):
            yield Step(SAID if by_agent else ASKED, text)
    elif kind == "tool_use":
        given = block.get("input")
        command = given.get("command") if isinstance(given, dict) else None
        if block.get("name") in _SHELLS and isinstance(command, str):
            commands[call] = command
        for file in transcript.files_changed_by(block):
            yield Step(CHANGED, file)
    elif kind == "tool_result" and call in commands:
        output = _output(block.get("content"))
        exit_code = _EXIT.match(output)
        failed = block.get("is_error") is True or (exit_code is not None and exit_code[1] != "0")
        yield Step(FAILED_STEP if failed else PASSED, commands.pop(call), output if failed else "")


def _output(content: object) -> str:
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        content = "\n".join(text for text in texts if isinstance(text, str))
    return content[-_LONGEST:] if isinstance(content, str) else ""
