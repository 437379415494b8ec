"""The editor of whoever sits at the terminal: `$VISUAL`, else `$EDITOR`."""

from __future__ import annotations

import os

from engram.domain.errors import UsageError


def own_editor() -> str:
    """The command that the environment names; "" where it names none."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""


def open_editor(path: str) -> None:
    """Have a person edit a file, and wait. Raises UsageError where the editor cannot be started or ends badly."""
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
        raise UsageError(f"The editor ended with {code}; nothing was changed.", f"Your text is in {path}")
