"""The data that the core tools return: short, typed, and complete without the text that goes with it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class FoundLore(BaseModel):
    """An entry of an answer: `about` is its author and standing, `text` all of it or the passages that answer."""

    ref: str
    about: str
    text: str
    context: str = ""


class Found(BaseModel):
    """The answer to a query: `strength` is weak or none, "" if strong. `also` has the titles of what did not fit, by ref."""

    strength: str = ""
    notice: str = ""
    lore: list[FoundLore] = []
    also: dict[str, str] = {}
    notes: list[str] = []


class Similar(BaseModel):
    """An entry that says nearly the same as a new one; `differs` says in what they differ."""

    id: str
    similarity: float
    title: str
    text: str = ""
    differs: str = ""


class Recorded(BaseModel):
    """A new entry, or a known one that says the same (`status` "known"); `scope` is the store's."""

    id: str
    category: str
    confidence: float
    path: str
    similar: list[Similar] = []
    redacted: int = 0
    scope: str = ""
    status: str = "recorded"
    note: str = ""


class Judgement(BaseModel):
    """One entry after feedback; `repeated` if this session gave the same feedback before."""

    ref: str = ""
    id: str
    kind: str
    previous: float
    current: float
    validation_count: int
    repeated: bool = False


class Judged(BaseModel):
    """The results of feedback."""

    updated: list[Judgement]


class Whole(BaseModel):
    """Entries with all their fields."""

    notice: str
    lore: list[dict[str, Any]]


class Forgotten(BaseModel):
    """Entries that were deleted, if `deleted`."""

    deleted: bool
    ids: list[str] = []
    undo: str = ""


class Status(BaseModel):
    """The state of the memory."""

    store: str
    scope: str
    placement: str
    lore_count: int
    by_category: dict[str, int] = {}
    strategy: str
    pending: int = 0
    ahead: int = 0
    behind: int = 0
    session_refs: int = 0
    notes: list[str] = []
