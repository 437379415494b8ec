"""Conversion between an entry and the values of its file: which are written, and which are defaults."""

from __future__ import annotations

from engram.adapters.files.frontmatter.frontmatter import normalise
from engram.domain.entry import confidence, times, ulid
from engram.domain.entry.categories import DEFAULT_CATEGORY
from engram.domain.entry.confidence import DEFAULT_PRIOR, stated_text, two_decimals
from engram.domain.entry.lore import ACTIVE, NO_VOTES, Lore
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from engram.domain.entry.categories import Categories


def build_lore(
    said: dict[str, Any], content: str, lore_id: str, created: datetime | None, categories: Categories
) -> Lore:
    """Build an entry from the values of a file (`said`, from `fields.parse`) and the defaults.

    `created` is the time of creation if the file has none; None: that of the id. `content` is normalised.
    """
    get = said.get
    category = get("category", DEFAULT_CATEGORY)
    created = get("created_at") or created or ulid.moment(lore_id)
    source_id, sources = get("source_id", ""), get("sources", ())
    # By position, in the order of the fields: names cost more than all the rest of this.
    return Lore(
        lore_id,
        content,
        category,
        created,
        get("updated_at", created),
        get("type") or categories.type_of(category),
        get("status", ACTIVE),
        _prior(said),
        get("votes") or NO_VOTES,
        get("last_validated"),
        get("context", ()),
        get("tags", ()),
        get("files", ()),
        get("entities", ()),
        get("relations", ()),
        get("merged_from", ()),
        get("importance"),
        get("pinned", False),
        get("expires_at"),
        get("agent", ""),
        source_id,
        () if sources == (source_id,) else sources,
        get("conflicts", ()),
    )


def _prior(said: dict[str, Any]) -> int:
    """Return the confidence that the author stated: of a file of format 1 the prior, adjusted where a person edited."""
    shown: str | None = said.get("confidence")
    votes = said.get("votes") or NO_VOTES
    if not votes and "prior" not in said:
        return DEFAULT_PRIOR if shown is None else _stated(shown)
    prior, merged = said.get("prior", DEFAULT_PRIOR), len(said.get("merged_from", ()))
    derived = confidence.derive(prior, votes, merged)
    if shown is None or shown == two_decimals(derived):
        return prior if votes else derived
    return confidence.prior_for(_stated(shown), votes, merged) if votes else _stated(shown)


def _stated(shown: str) -> int:
    if len(shown) == 4:
        return int(shown[0]) * 1000 + int(shown[2:]) * 10
    from engram.adapters.files.frontmatter.fields import thousandths_of  # rarely more digits

    return thousandths_of(shown) or 0


def normalize(lore: Lore) -> Lore:
    """Normalize an entry to what a file can hold: no blank edges, no empty context, no redundant `sources`."""
    content = normalise(lore.content)
    context = tuple([text for text in lore.context if text]) if "" in lore.context else lore.context
    sources = () if lore.sources == (lore.source_id,) else lore.sources
    if content == lore.content and context is lore.context and sources is lore.sources:
        return lore
    return lore._replace(content=content, context=context, sources=sources)


def file_values(lore: Lore) -> dict[str, Any]:
    """Return the values that the file of a normalized entry has to hold, in file form.

    With votes it is of format 1, which holds what they add up to as well.
    """
    found = lore._asdict()
    del found["content"]
    for name in ("created_at", "updated_at", "last_validated", "expires_at"):
        if found[name] is not None:
            found[name] = times.whole_milliseconds(found[name])
    if lore.votes:  # format 1
        derived = confidence.derive(lore.prior, lore.votes, len(lore.merged_from))
        found["confidence"] = two_decimals(derived)
        found["validation_count"] = sum(vote.n for vote in lore.votes.values())
    else:
        found["confidence"] = stated_text(confidence.clamp(lore.prior))
        found |= {"prior": DEFAULT_PRIOR, "validation_count": 0, "last_validated": None}
    return found


def defaults(lore: Lore, categories: Categories) -> dict[str, Any]:
    """Return the values that are left out of the file of this entry; None where a key is always written."""
    return {
        "id": None,
        "category": None,
        "type": categories.type_of(lore.category),
        "status": ACTIVE,
        "confidence": None if lore.votes else stated_text(DEFAULT_PRIOR),
        "prior": DEFAULT_PRIOR,
        "votes": NO_VOTES,
        "validation_count": 0,
        "last_validated": None,
        "context": (),
        "tags": (),
        "files": (),
        "entities": (),
        "relations": (),
        "merged_from": (),
        "importance": None,
        "pinned": False,
        "expires_at": None,
        "agent": "",
        "source_id": "",
        "sources": (),
        "created_at": None,
        "updated_at": times.whole_milliseconds(lore.created_at),
        "conflicts": (),
    }
