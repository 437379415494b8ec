"""The editor of the person at the terminal: `$VISUAL`, else `$EDITOR`; text typed in it is never lost."""

from __future__ import annotations

import os

from engram.domain.errors import EngramError, UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


def own_editor() -> str:
    """Return the command that the environment names, or ""."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""


def open_editor(path: str) -> None:
    """Open a file in the editor and wait. Raises UsageError if the editor cannot be started or fails."""
    import shlex
    import subprocess

    editor = own_editor() or ("notepad" if os.name == "nt" else "vi")
    try:
        words = shlex.split(editor)
    except ValueError as error:
        raise UsageError(f"The editor '{editor}' cannot be read: {error}.", "Set $EDITOR.") from None
    try:
        code = subprocess.run([*words, path], check=False).returncode
    except OSError as error:
        raise UsageError(
            f"The editor '{editor}' cannot be started: {error.strerror}.", "Set $EDITOR."
        ) from None
    if code:
        raise UsageError(f"The editor '{editor}' ended with {code}; nothing was changed.")


def edit_text(before: bytes) -> bytes:
    """Let a person edit a text and return the result. Raises UsageError; then a changed text is kept in a file."""
    copy = _save_draft(before)
    after = before
    try:
        try:
            open_editor(copy)
        finally:
            with open(copy, "rb") as file:
                after = file.read()
    except EngramError as error:
        if after != before:
            raise _name_draft(error, copy) from None
        os.unlink(copy)
        raise
    os.unlink(copy)
    return after


def keep_if_refused(text: bytes, take: Callable[[], T]) -> T:
    """Return the result of `take`, which takes a text that a person typed; if that fails, keep the text in a file."""
    try:
        return take()
    except EngramError as error:
        raise _name_draft(error, _save_draft(text)) from None


def _save_draft(text: bytes) -> str:
    """Write a text to a new temporary file and return its path."""
    import tempfile

    handle, path = tempfile.mkstemp(prefix="engram-", suffix=".md")
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    return path


def _name_draft(error: EngramError, path: str) -> EngramError:
    """Add the path of the file that keeps the text to the hint of an error, and return it."""
    error.hint = f"Your text is kept in {path}. {error.hint}".rstrip()
    return error
