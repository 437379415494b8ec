"""The words of a text: runs of letters and digits, including an apostrophe within one."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
PART = re.compile(r"[^\W_]+")

# All but letters, digits and ' become spaces: splitting at spaces is several times as fast as a regular expression.
_BOUNDS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"}


def words_in(text: str) -> list[str]:
    """Return the words of a text in order, as spelt."""
    if not text.isascii():
        return WORD.findall(text)
    found = text.translate(_BOUNDS).split()
    if "'" not in text:
        return found
    return [word for token in found for word in ((token,) if "'" not in token else WORD.findall(token))]
