"""The sentences of a text, without its code, output and addresses.

A listing has many numbers, negations and opposites ("LIMIT 5", "if not rows", "true"), none of which is a statement.
"""

from __future__ import annotations

import re

_FENCED = re.compile(
    r"^[ \t>]*(?P<mark>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t>]*(?P=mark)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_TAG = re.compile(r"<[A-Za-z][^<>]*=[^<>]*>")  # with an attribute: Vec<u8> is not a tag
_ADDRESS = re.compile(r"\b[a-z]+://[^\s<>\"'`)\]]+")
_PARAMETERS = re.compile(r"(\b[a-z]+://[^\s?<>\"'`)\]]*)\?[^\s<>\"'`)\]]*")
_MIN_LENGTH = 20  # characters: a shorter text says nothing


def prose(text: str) -> str:
    """Return the text without fenced code, tags and addresses; all of it if hardly anything would be left."""
    found = _FENCED.sub("\n", text) if "```" in text or "~~~" in text else text
    if "<" in found:
        found = _TAG.sub(" ", found)
    if "://" in found:
        found = _ADDRESS.sub(" ", found)
    return found if len(found.strip()) >= _MIN_LENGTH else text


def without_parameters(text: str) -> str:
    """Cut addresses at the question mark: the rest is code, with %20 for a space."""
    return _PARAMETERS.sub(r"\1", text) if "://" in text else text
