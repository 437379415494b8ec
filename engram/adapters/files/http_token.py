"""The file with the token that clients of a server must send."""

from __future__ import annotations

NAME = "http-token"
SHORTEST = 16
MOST_READ = 1000  # characters


def is_token(text: str) -> bool:
    """Return whether a text can be a token: 16 or more letters, digits and signs."""
    return len(text) >= SHORTEST and text.isascii() and text.isprintable() and " " not in text


def is_damaged(path: str) -> bool:
    """Return whether a file does not contain a valid token. Raises OSError."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return not is_token(file.read(MOST_READ).strip())
