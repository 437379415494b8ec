"""The admission policy: the status of a new or changed entry, from its text and its author."""

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

_BY_AGENTS = "entries by agents wait for review here"
_TRUSTED = ("trusted", "authoritative")


class Contradiction(NamedTuple):
    """A trusted entry that a new one contradicts: its id, its title, and what differs, in a clause."""

    id: str
    title: str
    why: str


class Admission(NamedTuple):
    """The status of a new entry, why that is not the requested one, and the entries that it contradicts."""

    status: str
    why: str = ""
    contradictions: tuple[Contradiction, ...] = ()


def admit(store: Store, lore: Lore, twins: Sequence[Similar]) -> Admission:
    """Decide on a new entry. Raises ValidationError for junk if the settings refuse it."""
    reason = _check_junk(store, lore.content)
    if reason and lore.status == ACTIVE:
        return Admission(PENDING, reason)
    must_wait = lore.status == ACTIVE and _must_wait(store, lore.agent)
    status, why = (PENDING, _BY_AGENTS) if must_wait else (lore.status, "")
    contradictions = []
    for twin in twins:
        file = _load_twin(store, twin)
        if file is None:
            continue
        verdict = compare(lore.content, file.lore.content)
        if verdict.kind == CONTRADICTION and state(file.lore.thousandths) in _TRUSTED:
            contradictions.append(Contradiction(twin.id, twin.title, verdict.why))
    return Admission(status, why, contradictions=tuple(contradictions))


def author_of(store: Store, named: str = "") -> str:
    """Return the author of what is said here: `named`, else the caller, else as the settings say."""
    return named or store.caller.agent or store.settings.text("record.agent") or HUMAN


def admit_change(store: Store, before: Lore, after: Lore, agent: str) -> tuple[str, str]:
    """Return the status of a changed entry, and why that is not the requested one: new claims are judged as if recorded.

    `agent` is who changes it. Raises as `admit`.
    """
    reason = _check_junk(store, after.content) if after.content != before.content else ""
    if after.status != ACTIVE:
        return after.status, ""
    if reason:
        return PENDING, reason
    is_new = before.status == PENDING or before._replace(**_claims(after)) != before
    return (PENDING, _BY_AGENTS) if is_new and _must_wait(store, agent) else (ACTIVE, "")


def _claims(lore: Lore) -> dict[str, Any]:
    """Return the fields that readers rely on."""
    return {"content": lore.content, "category": lore.category, "context": lore.context}


def _must_wait(store: Store, agent: str) -> bool:
    return agent != HUMAN and store.settings.text("review.agents") == PENDING


def _check_junk(store: Store, content: str) -> str:
    """Return why a text is junk, "" if it is not or junk may be active. Raises ValidationError if the settings refuse it."""
    setting = store.settings.text("review.junk")
    reason = why_junk(content) if setting != ACTIVE else ""
    if reason and setting == "refuse":
        raise ValidationError("content", f"Not recorded: {reason}.", "State what was learned in a sentence.")
    return reason


def _load_twin(store: Store, twin: Similar) -> LoreFile | None:
    file = entry_writer.load_readable(store, twin.path)
    return file if file and file.lore.id == twin.id and file.adopted else None
