"""Workflow commands of GitHub Actions: remarks shown beside the lines of a pull request.

A runner executes every line that begins with `::` or contains `##[`. So text from files is put on one line and escaped
as GitHub does it, and all other output is kept free of both.
"""

from __future__ import annotations

from engram.domain.text.safe_text import safe_text


def annotation(level: str, path: str, line: int, title: str, message: str) -> str:
    """Format the command that shows a remark; `level` is `error` or `warning`, `line` counts from 1 (0: the whole file)."""
    where = [f"file={_property(path)}"] if path else []
    where += [f"line={line}"] if path and line else []
    return f"::{level} {','.join([*where, f'title={_property(title)}'])}::{_data(message)}"


def log_line(text: str) -> str:
    """Return text as a line that no runner executes, provided that the caller puts a fixed word before it."""
    return safe_text(text).replace("##", "# #")


def _data(text: str) -> str:
    return log_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
