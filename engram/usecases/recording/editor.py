"""The editor of whoever sits at the terminal: `$VISUAL`, else `$EDITOR`; what was typed in it is never lost."""

from __future__ import annotations

import os

from engram.domain.errors import EngramError, UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


def own_editor() -> str:
    """Return the command that the environment names; "" where it names none."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""


def open_editor(path: str) -> None:
    """Have a person edit a file, and wait. Raises UsageError where the editor cannot be started or says it failed."""
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
    """Return what a person makes of a text in their editor. Raises UsageError; a text that was changed is kept then."""
    copy = save_draft(before)
    after = before
    try:
        try:
            open_editor(copy)
        finally:
            with open(copy, "rb") as file:
                after = file.read()
    except EngramError as error:
        if after != before:
            raise keeping(error, copy) from None
        os.unlink(copy)
        raise
    os.unlink(copy)
    return after


def keep_if_refused(text: bytes, take: Callable[[], T]) -> T:
    """Return the result of `take` on a text that a person typed; if it is refused, the error names the file that keeps the text."""
    try:
        return take()
    except EngramError as error:
        raise keeping(error, save_draft(text)) from None


def save_draft(text: bytes) -> str:
    """Return a file of its own that holds a text, among the temporary ones; its path."""
    import tempfile

    handle, path = tempfile.mkstemp(prefix="engram-", suffix=".md")
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    return path


def keeping(error: EngramError, path: str) -> EngramError:
    """Return the error, with the file that keeps what was typed."""
    error.hint = f"Your text is kept in {path}. {error.hint}".rstrip()
    return error
