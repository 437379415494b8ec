"""What the tools of the core set return, as data: short, typed, complete without the text that goes with it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class FoundLore(BaseModel):
    """An entry that answers: `about` is by whom and how it did, `text` all or what answers, `context` where it was learned."""

    ref: str
    about: str
    text: str
    context: str = ""


class Found(BaseModel):
    """The answer to a query: `strength` is weak or none, "" where it is strong. `also` has titles, by ref, of what did not fit."""

    strength: str = ""
    notice: str = ""
    lore: list[FoundLore] = []
    also: dict[str, str] = {}
    notes: list[str] = []


class Similar(BaseModel):
    """An entry that says nearly the same as a new one; `differs` says what keeps the two from being the same."""

    id: str
    similarity: float
    title: str
    text: str = ""
    differs: str = ""


class Recorded(BaseModel):
    """A new entry, or one that says it already (`known`); `scope` says in which store."""

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
    """All lore that feedback was given on."""

    updated: list[Judgement]


class Whole(BaseModel):
    """Entries with all their fields."""

    notice: str
    lore: list[dict[str, Any]]


class Forgotten(BaseModel):
    """Entries that were deleted, or would be: `deleted` says which."""

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
