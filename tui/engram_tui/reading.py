"""What the screens ask of a store, as values ready to draw. Called from worker threads, never from the screen's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from engram.usecases.listing import list_hits
from engram_tui.rows import Row, row_of_hit, row_of_recalled

if TYPE_CHECKING:
    from engram.app import Engram

MOST_MATCHES = 50


class Page(NamedTuple):
    """The list, or its beginning: `total` counts all lore of the store."""

    rows: list[Row]
    total: int
    order: str

    @property
    def complete(self) -> bool:
        """Whether this is the whole list."""
        return len(self.rows) >= self.total


class Matches(NamedTuple):
    """What a search found, best first, and which `text` it answers; `notes` say what was degraded."""

    text: str
    rows: list[Row]
    strength: str
    strategy: str
    took_ms: float
    notes: tuple[str, ...]


class Heading(NamedTuple):
    """What the first line says of the store; `branch` is empty outside git, `trouble` says what is wrong."""

    path: str
    branch: str
    strategy: str
    trouble: str


def read_page(store: Engram, order: str, limit: int | None) -> Page:
    """The first `limit` lore in this order (None: all). Raises StoreError."""
    hits, total = list_hits(store.store, limit=limit, sort=order)
    refs = _refs(store)
    rows = [row_of_hit(hit, refs) for hit in hits]
    return Page(rows, total if limit is not None else len(rows), order)


def read_matches(store: Engram, text: str) -> Matches:
    """The lore that answer `text`; leaves no trace in the session or the log. Raises ValidationError, StoreError."""
    answer = store.query(text, k=MOST_MATCHES, min_confidence=0, keep=False)
    refs = _refs(store)
    rows = [row_of_recalled(recalled, refs) for recalled in answer.lore]
    return Matches(text, rows, answer.strength, answer.strategy, answer.took_ms, answer.notes)


def read_heading(store: Engram) -> Heading:
    """Where the store is and how it is doing. Looks at every file, so it comes after the first list."""
    status = store.status()
    git, index = status["git"], status["index"]
    assert isinstance(git, dict)
    assert isinstance(index, dict)
    trouble = "" if index["ok"] else str(index["message"])
    return Heading(short_path(store.path), git["branch"] or "", str(index.get("strategy", "")), trouble)


def short_path(path: str) -> str:
    """A path as people write it: their home is `~`."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path


def _refs(store: Engram) -> dict[str, str]:
    return {lore_id: ref for ref, lore_id in store.session_refs().items()}
