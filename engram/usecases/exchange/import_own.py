"""What only Engram's own export knows of a lore: votes, times, sources. An import brings it back."""

from __future__ import annotations

from engram.domain.entry import confidence, times, ulid
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Conflict, Lore
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_NO_TIME = "0000000000"  # how the id of a file begins that nobody has adopted yet


def own_id(text: str) -> str:
    """The id of a lore that Engram wrote; "" for anything else, and for an id that was only provisional."""
    return text if ulid.is_valid(text) and not text.startswith(_NO_TIME) else ""


def lore_of_row(fields: Mapping[str, object], content: str, category: str) -> Lore | None:
    """The past of a lore from a row of Engram's JSON (`fields` as `read_rows` gives them); None for other rows."""
    lore_id = own_id(str(fields.get("id", "")))
    if not lore_id or not ({"source_id", "votes"} & set(fields)):
        return None
    votes = _votes(fields.get("votes"))
    merged = tuple(name for name in _texts(fields.get("merged_from")) if ulid.is_valid(name))
    shown = fields.get("confidence")
    shown = round(shown * 1000) if isinstance(shown, float | int) else confidence.DEFAULT_PRIOR
    created = time_of(fields.get("created_at")) or times.whole_seconds(ulid.moment(lore_id))
    return Lore(
        id=lore_id,
        content=content,
        category=category,
        created_at=created,
        updated_at=time_of(fields.get("updated_at")) or created,
        prior=confidence.prior_for(shown, votes, len(merged)),
        votes=votes,
        last_validated=time_of(fields.get("last_validated")),
        merged_from=merged,
        agent=str(fields.get("agent", "")),
        source_id=str(fields.get("source_id", "")),
        sources=_texts(fields.get("sources")),
        conflicts=_conflicts(fields.get("conflicts")),
    )


def with_past(lore: Lore, own: Lore, *, confidence_given: bool) -> Lore:
    """A lore about to be imported with the past of `own`; what the importer asked for stays."""
    prior = own.prior
    if confidence_given:
        prior = confidence.prior_for(lore.prior, own.votes, len(own.merged_from))
    return lore._replace(
        created_at=own.created_at,
        updated_at=own.updated_at,
        prior=prior,
        votes=own.votes,
        last_validated=own.last_validated,
        merged_from=own.merged_from,
        agent=lore.agent if own.agent else "",
        source_id=own.source_id,
        sources=own.sources,
        conflicts=own.conflicts,
    )


def time_of(value: object) -> datetime | None:
    """The time that a text says, or None."""
    try:
        return times.parse(str(value)) if value else None
    except (ValueError, OverflowError):
        return None


def _votes(value: object) -> dict[str, Vote]:
    """Votes by clone, from what `read_rows` has checked."""
    found = value if isinstance(value, dict) else {}
    return {str(clone): Vote(vote["up"], vote["down"], vote["n"]) for clone, vote in found.items()}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _conflicts(value: object) -> tuple[Conflict, ...]:
    items = value if isinstance(value, list) else []
    keys = ("field", "value", "from", "at")
    return tuple(
        Conflict(*[str(item.get(key, "")) for key in keys]) for item in items if isinstance(item, dict)
    )
