"""The text of a recent entry, as a comparison with a new one needs it."""

from __future__ import annotations

from engram.domain.typed import NamedTuple


class RecentText(NamedTuple):
    """An entry's id, title, file and searchable text, and the meaningful words of that text."""

    id: str
    title: str
    path: str
    text: str
    words: frozenset[str]
