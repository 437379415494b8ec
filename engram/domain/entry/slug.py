"""File names from titles: short, lower case, safe on every file system."""

from __future__ import annotations

MAX_SLUG = 60
FALLBACK = "lore"

# Letters that Unicode does not decompose into a base letter and a mark.
_LETTERS = str.maketrans(
    {
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "ħ": "h",
        "\u0131": "i",
        "ł": "l",
        "þ": "th",
        "ŧ": "t",
    }
)
_APOSTROPHES = str.maketrans("", "", "'\u2019\u02bc")
_KEPT = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def slug(title: str) -> str:
    """1..60 characters of `[a-z0-9-]` that recall the title; "lore" where no letter of it can be kept.

    Accents are folded (é → e), words are kept whole as long as the first one fits.
    """
    kept = "".join(letter if letter in _KEPT else " " for letter in _fold(title))
    words = kept.split()
    if not words:
        return FALLBACK
    name = words[0][:MAX_SLUG]
    for word in words[1:]:
        if len(name) + 1 + len(word) > MAX_SLUG:
            break
        name = f"{name}-{word}"
    return name


def _fold(title: str) -> str:
    text = title.lower().translate(_APOSTROPHES)
    if text.isascii():
        return text
    import unicodedata

    plain = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).lower()
