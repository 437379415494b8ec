"""Trailers: the `Key: value` lines at the end of a commit message."""

from __future__ import annotations

OPERATION = "Engram-Op"


def with_trailer(message: str, key: str, value: str) -> str:
    """Return the message with `key: value` among its trailers (once), ending in one line end."""
    message = message.rstrip()
    line = f"{key}: {value}"
    last_paragraph = message.rpartition("\n\n")[2].splitlines() if "\n\n" in message else []
    if line in last_paragraph:
        return message + "\n"
    joined = bool(last_paragraph) and all(_is_trailer(text) for text in last_paragraph)
    return f"{message}{chr(10) if joined else chr(10) * 2}{line}\n"


def parse(text: str) -> dict[str, tuple[str, ...]]:
    """Return each key with its values in order; lines that are no trailer are passed over."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        if _is_trailer(line):
            key, _, value = line.partition(":")
            found[key] = (*found.get(key, ()), value.strip())
    return found


def _is_trailer(line: str) -> bool:
    key, colon, _ = line.partition(":")
    return bool(colon) and bool(key) and all(letter.isalnum() or letter == "-" for letter in key)
