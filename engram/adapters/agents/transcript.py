"""The end of an agent's transcript: the prompts, the agent's replies, the changed files.

Transcripts are JSON Lines whose format no vendor guarantees, so unknown lines are skipped. Supported are Claude Code
(`type`, `message.content`), Codex (`payload` with `role` and `content`), Cursor (`role`, `message.content`), Gemini CLI
(`type`, `content`, `toolCalls`) and Copilot CLI (`type`, `data`).
"""

from __future__ import annotations

import json
import os
import stat

from engram.domain.agents.fence import remove_hook_context
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

READ = 512 * 1024  # bytes, from the end of a transcript
CHANGING = {
    "Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "edit_file", "write_file", "replace", "edit", "create",
    "replace_string_in_file", "create_file", "insert_edit_into_file",
}  # fmt: skip
_ROLES = {"gemini": "assistant", "assistant.message": "assistant", "user.message": "user"}
_PATCH_HEADERS = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")
_TEXTS = {"text", "output_text", "input_text"}
_MAX_ITEMS = 800


class Transcript(NamedTuple):
    """The end of a transcript: texts in order, each with its role (`user` or `assistant`), and the distinct changed files."""

    turns: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts."""
        return tuple(text for role, text in self.turns if role == "user")

    @property
    def said(self) -> tuple[str, ...]:
        """The agent's replies."""
        return tuple(text for role, text in self.turns if role == "assistant")


def read(path: str) -> Transcript:
    """Return the transcript at `path`; an empty one if it cannot be read."""
    texts, files = list[tuple[str, str]](), list[str]()
    for role, kind, text in _parts(lines(path)):
        if kind == "file":
            files.append(text)
        elif role == "assistant":
            texts.append((role, text))
        elif role == "user" and (prompt := prompt_in(text)):
            texts.append((role, prompt))
    return Transcript(tuple(texts[-_MAX_ITEMS:]), tuple(dict.fromkeys(files))[:_MAX_ITEMS])


def prompt_in(text: str) -> str:
    """Return what a person typed in a user's turn; "" if the program wrote the turn."""
    prompt = remove_hook_context(text)
    return "" if prompt.lstrip().startswith("<") else prompt


def turns(raw: bytes) -> list[tuple[str, str, str]]:
    """Return (role, kind, text) of each text ("text") and changed file ("file") of a transcript, in order.

    It may be JSON Lines, a JSON list of messages, or an object with such a list as `messages`; empty for anything else.
    """
    try:
        whole = json.loads(raw)
    except (ValueError, RecursionError):
        return list(_parts(_objects(raw)))
    rows = whole.get("messages", [whole]) if isinstance(whole, dict) else whole
    return list(_parts(row for row in rows if isinstance(row, dict))) if isinstance(rows, list) else []


def lines(path: str) -> Iterator[dict[str, object]]:
    """Return the JSON objects at the end of a transcript; none if it cannot be read."""
    return _objects(_tail(path))


def _objects(raw: bytes) -> Iterator[dict[str, object]]:
    for line in raw.split(b"\n"):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _tail(path: str) -> bytes:
    """Return the last bytes of a regular file, b"" if it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return b""
        os.lseek(handle, max(0, found.st_size - READ), os.SEEK_SET)
        return os.read(handle, READ)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _parts(rows: Iterable[dict[str, object]]) -> Iterator[tuple[str, str, str]]:
    """Yield (role, kind, text) of each text and changed file."""
    for line in rows:
        if line.get("isMeta") is True or line.get("isCompactSummary") is True:
            continue  # written by Claude Code in the user's name
        inner = line.get("message") or line.get("payload") or line.get("data") or line
        if not isinstance(inner, dict):
            continue
        role = str(inner.get("role") or line.get("role") or line.get("type") or "")
        role = _ROLES.get(role, role)
        content = inner.get("content")
        if isinstance(content, str) and content:
            yield role, "text", content
        calls = inner.get("toolCalls") or inner.get("toolRequests") or [inner]
        for blocks in (content, calls):
            for block in blocks if isinstance(blocks, list) else ():
                if isinstance(block, dict):
                    yield from _parts_of_block(role, block)


def _parts_of_block(role: str, block: dict[str, object]) -> Iterator[tuple[str, str, str]]:
    text = block.get("text")
    if isinstance(text, str) and block.get("type", "text") in _TEXTS:
        yield role, "text", text
    else:
        for path in files_changed_by(block):
            yield role, "file", path


def files_changed_by(block: dict[str, object]) -> list[str]:
    """Return the files that a tool call changes; none for a tool that changes none."""
    if block.get("name") not in CHANGING:
        return []
    arguments = block.get("input") or block.get("args") or block.get("arguments")
    if isinstance(arguments, str):
        return files_of_patch(arguments)
    if not isinstance(arguments, dict):
        return []
    paths = [arguments.get(name) for name in ("file_path", "notebook_path", "path")]
    return [path for path in paths if isinstance(path, str) and path][:1]


def files_of_patch(patch: str) -> list[str]:
    """Return the files that a patch in the format of `apply_patch` changes."""
    lines = patch.splitlines() if patch.startswith("*** Begin Patch") else []
    return [
        line.removeprefix(mark).strip() for line in lines for mark in _PATCH_HEADERS if line.startswith(mark)
    ]
