"""What an entry says, as a comparison with a new one needs it."""

from __future__ import annotations

from engram.domain.typed import NamedTuple


class Said(NamedTuple):
    """What a lore says: its id, title, file, searchable text, and the words of it that carry meaning."""

    id: str
    title: str
    path: str
    text: str
    words: frozenset[str]
