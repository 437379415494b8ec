"""Conversion between an entry and the values of its file: which are written, and which are defaults."""

from __future__ import annotations

from engram.adapters.files.frontmatter.frontmatter import normalise
from engram.domain.entry import confidence, times, ulid
from engram.domain.entry.categories import DEFAULT_CATEGORY
from engram.domain.entry.confidence import DEFAULT_PRIOR, two_decimals
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
    """Return the prior, adjusted to the confidence where a person edited that."""
    prior: int = said.get("prior", DEFAULT_PRIOR)
    shown: str | None = said.get("confidence")
    if shown is None:
        return prior
    votes, merged = said.get("votes") or NO_VOTES, len(said.get("merged_from", ()))
    if shown == two_decimals(confidence.derive(prior, votes, merged)):
        return prior
    from engram.adapters.files.frontmatter.fields import thousandths_of  # a rare edit by hand

    return confidence.prior_for(thousandths_of(shown) or 0, votes, merged)


def normalize(lore: Lore) -> Lore:
    """Normalize an entry to what a file can hold: no blank edges, no empty context, no redundant `sources`."""
    content = normalise(lore.content)
    context = tuple([text for text in lore.context if text]) if "" in lore.context else lore.context
    sources = () if lore.sources == (lore.source_id,) else lore.sources
    if content == lore.content and context is lore.context and sources is lore.sources:
        return lore
    return lore._replace(content=content, context=context, sources=sources)


def file_values(lore: Lore) -> dict[str, Any]:
    """Return the values that the file of a normalized entry has to hold, in file form, with the derived ones."""
    found = lore._asdict()
    del found["content"]
    for name in ("created_at", "updated_at", "last_validated", "expires_at"):
        if found[name] is not None:
            found[name] = times.whole_milliseconds(found[name])
    found["confidence"] = two_decimals(lore.thousandths)
    found["validation_count"] = lore.validation_count
    return found


def defaults(lore: Lore, categories: Categories) -> dict[str, Any]:
    """Return the values that are left out of the file of this entry; None where a key is always written."""
    voted = bool(lore.votes or lore.merged_from)
    return {
        "id": None,
        "category": None,
        "type": categories.type_of(lore.category),
        "status": ACTIVE,
        "confidence": None if voted else two_decimals(DEFAULT_PRIOR),
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
