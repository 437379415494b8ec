"""Workflow commands of GitHub Actions: remarks that GitHub shows beside the lines of a pull request.

A runner takes every line for a command that begins with `::`, and every line with `##[` anywhere in it. So what comes
from a file is made one harmless line, escaped as GitHub does itself, and in no other line is either left.
"""

from __future__ import annotations

from engram.domain.text.safe_text import safe_text


def annotation(level: str, path: str, line: int, title: str, message: str) -> str:
    """The command that shows a remark; `level` is `error` or `warning`, `line` counts from 1 (0: of the whole file)."""
    where = [f"file={_property(path)}"] if path else []
    where += [f"line={line}"] if path and line else []
    return f"::{level} {','.join([*where, f'title={_property(title)}'])}::{_data(message)}"


def logged(text: str) -> str:
    """A line for people that no runner takes for a command: begin it with a word of your own."""
    return safe_text(text).replace("##", "# #")


def _data(text: str) -> str:
    return logged(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
