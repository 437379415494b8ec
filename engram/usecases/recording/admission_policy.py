"""The admission policy: the status of a new or changed entry, by its text and its author."""

from __future__ import annotations

from engram.domain.admission.junk import why_junk
from engram.domain.entry.confidence import state
from engram.domain.entry.lore import ACTIVE, HUMAN, PENDING, Lore
from engram.domain.errors import ValidationError
from engram.domain.similarity.equivalence import CONTRADICTION, compare
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.usecases.similarity.near_duplicates import Similar
    from engram.usecases.store.store import Store

_OF_AGENTS = "entries by agents wait for review here"
_TRUSTED = ("trusted", "authoritative")


class Contradiction(NamedTuple):
    """A trusted entry that a new one contradicts: its id, its title, and what differs, in a clause."""

    id: str
    title: str
    why: str


class Admission(NamedTuple):
    """What becomes of a new entry: with which status it is written, why not as it asked, and what it speaks against."""

    status: str
    why: str = ""
    contradictions: tuple[Contradiction, ...] = ()


def admit(store: Store, lore: Lore, twins: Sequence[Similar]) -> Admission:
    """Decide. Raises ValidationError for junk where the settings refuse it."""
    reason = _junk(store, lore.content)
    if reason and lore.status == ACTIVE:
        return Admission(PENDING, reason)
    held = lore.status == ACTIVE and _waits(store, lore.agent)
    status, why = (PENDING, _OF_AGENTS) if held else (lore.status, "")
    against = []
    for twin in twins:
        file = _load_twin(store, twin)
        if file is None:
            continue
        verdict = compare(lore.content, file.lore.content)
        if verdict.kind == CONTRADICTION and state(file.lore.thousandths) in _TRUSTED:
            against.append(Contradiction(twin.id, twin.title, verdict.why))
    return Admission(status, why, contradictions=tuple(against))


def speaker(store: Store, named: str = "") -> str:
    """Return who is taken to say something here: who is named, else the caller, else what the settings say."""
    return named or store.caller.agent or store.settings.text("record.agent") or HUMAN


def admit_change(store: Store, before: Lore, after: Lore, agent: str) -> tuple[str, str]:
    """With which status a changed entry is written, and why not as it asked: what is said anew is looked at as if recorded.

    `agent` is who changes it. Raises as `admit`.
    """
    reason = _junk(store, after.content) if after.content != before.content else ""
    if after.status != ACTIVE:
        return after.status, ""
    if reason:
        return PENDING, reason
    is_new = before.status == PENDING or before._replace(**_claims(after)) != before
    return (PENDING, _OF_AGENTS) if is_new and _waits(store, agent) else (ACTIVE, "")


def _claims(lore: Lore) -> dict[str, Any]:
    """Return what a reader goes by."""
    return {"content": lore.content, "category": lore.category, "context": lore.context}


def _waits(store: Store, agent: str) -> bool:
    return agent != HUMAN and store.settings.text("review.agents") == PENDING


def _junk(store: Store, content: str) -> str:
    """Return why a text is junk, if the settings hold junk. Raises ValidationError if they refuse it."""
    wanted = store.settings.text("review.junk")
    reason = why_junk(content) if wanted != ACTIVE else ""
    if reason and wanted == "refuse":
        raise ValidationError("content", f"Not recorded: {reason}.", "State what was learned in a sentence.")
    return reason


def _load_twin(store: Store, twin: Similar) -> LoreFile | None:
    file = entry_writer.load_readable(store, twin.path)
    return file if file and file.lore.id == twin.id and file.adopted else None
