"""Describe errors in one line of text."""

from __future__ import annotations

import sqlite3

from engram.domain.errors import EngramError

EXPECTED = (EngramError, OSError, sqlite3.Error)


def describe_error(error: Exception) -> str:
    """Say what happened and what to do next, without line breaks."""
    if isinstance(error, EngramError):
        text = f"{error.message} {error.hint}"
    elif isinstance(error, OSError):
        text = f"{error.strerror or error}: {error.filename or ''}. Nothing else was changed; try again."
    else:
        text = f"{type(error).__name__}: {error}. Run `engram doctor`."
    return " ".join(text.split())


def describe_defect(error: Exception) -> str:
    """Say in one line that Engram itself is at fault."""
    return f"A defect in Engram: {type(error).__name__}: {' '.join(str(error).split())}. Please report it."
