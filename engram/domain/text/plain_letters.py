"""Remove accents, as people type names without having the keys for them."""

from __future__ import annotations

import unicodedata

# Letters that Unicode does not decompose into a base letter and a mark.
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "\u0131": "i", "ł": "l", "þ": "th", "ŧ": "t"}
)  # fmt: skip


def without_accents(text: str) -> str:
    """Return a text in lower case without accents (é → e, ø → o)."""
    lower = text.lower()
    if lower.isascii():
        return lower
    decomposed = unicodedata.normalize("NFKD", lower.translate(_LETTERS))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).lower()
