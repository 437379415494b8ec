"""The end of an agent's transcript: what was asked, what the agent said, which files it changed.

Transcripts are JSON Lines whose shape no vendor promises, so a line that is not understood is passed over.
Understood are those of Claude Code (`type`, `message.content`), Codex (`payload` with `role` and `content`), Cursor
(`role`, `message.content`), Gemini CLI (`type`, `content`, `toolCalls`) and Copilot CLI (`type`, `data`).
"""

from __future__ import annotations

import json
import os
import stat

from engram.domain.agents.fence import remove_hook_context
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

READ = 512 * 1024  # bytes from its end
CHANGING = {
    "Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "edit_file", "write_file", "replace", "edit", "create",
    "replace_string_in_file", "create_file", "insert_edit_into_file",
}  # fmt: skip
_ROLES = {"gemini": "assistant", "assistant.message": "assistant", "user.message": "user"}
_PATCHED = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")
_TEXTS = {"text", "output_text", "input_text"}
_MOST = 800


class Transcript(NamedTuple):
    """What the end of a transcript says: whose words, `user` or `assistant`, in order, and the changed files, each once."""

    turns: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()

    @property
    def prompts(self) -> tuple[str, ...]:
        """What was asked."""
        return tuple(text for role, text in self.turns if role == "user")

    @property
    def said(self) -> tuple[str, ...]:
        """What the agent said."""
        return tuple(text for role, text in self.turns if role == "assistant")


def read(path: str) -> Transcript:
    """Return the transcript at `path`; an empty one where there is none that can be read."""
    said, files = list[tuple[str, str]](), list[str]()
    for role, kind, text in _parts(lines(path)):
        if kind == "file":
            files.append(text)
        elif role == "assistant":
            said.append((role, text))
        elif role == "user" and (prompt := prompt_in(text)):
            said.append((role, prompt))
    return Transcript(tuple(said[-_MOST:]), tuple(dict.fromkeys(files))[:_MOST])


def prompt_in(text: str) -> str:
    """Return what a person typed of a user's turn; "" where the program wrote it."""
    prompt = remove_hook_context(text)
    return "" if prompt.lstrip().startswith("<") else prompt


def turns(raw: bytes) -> list[tuple[str, str, str]]:
    """(role, kind, text) of each text ("text") and each changed file ("file") of a transcript, in order.

    It may be JSON Lines, one JSON list of messages, or an object with such a list as `messages`; empty for anything else.
    """
    try:
        whole = json.loads(raw)
    except (ValueError, RecursionError):
        return list(_parts(_objects(raw)))
    rows = whole.get("messages", [whole]) if isinstance(whole, dict) else whole
    return list(_parts(row for row in rows if isinstance(row, dict))) if isinstance(rows, list) else []


def lines(path: str) -> Iterator[dict[str, object]]:
    """Yield the JSON objects at the end of a transcript; none where it cannot be read."""
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
    """Return the last bytes of a regular file, "" where there is none."""
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
    """(role, kind, text) of each text and each changed file."""
    for line in rows:
        if line.get("isMeta") is True or line.get("isCompactSummary") is True:
            continue  # what Claude Code itself says in the user's name
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
                    yield from _of_block(role, block)


def _of_block(role: str, block: dict[str, object]) -> Iterator[tuple[str, str, str]]:
    text = block.get("text")
    if isinstance(text, str) and block.get("type", "text") in _TEXTS:
        yield role, "text", text
    else:
        for path in files_changed_by(block):
            yield role, "file", path


def files_changed_by(block: dict[str, object]) -> list[str]:
    """Return the files that a call of a tool changes; none for a call that changes none."""
    given = block.get("input") or block.get("args") or block.get("arguments")
    return _files_of_arguments(given) if block.get("name") in CHANGING else []


def _files_of_arguments(given: object) -> list[str]:
    """Return the files that a call of a tool changes, from its arguments."""
    if isinstance(given, str):
        return files_of_patch(given)
    named = (
        [given.get(name) for name in ("file_path", "notebook_path", "path")]
        if isinstance(given, dict)
        else []
    )
    return [path for path in named if isinstance(path, str) and path][:1]


def files_of_patch(patch: str) -> list[str]:
    """Return the files that a patch in the form of `apply_patch` changes."""
    lines = patch.splitlines() if patch.startswith("*** Begin Patch") else []
    return [line.removeprefix(mark).strip() for line in lines for mark in _PATCHED if line.startswith(mark)]
