"""The JSON of one entry: what every `--json`, every tool answer and every export shows of it."""

from __future__ import annotations

from engram.domain.entry.times import render
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from engram.domain.entry.lore import Lore


def lore_as_dict(lore: Lore, path: str) -> dict[str, object]:
    """Return every field of an entry as JSON values; `path` is its file relative to the store.

    Times are RFC 3339 strings. `context` is a string, a list where merges left several, null for none.
    """
    return {
        "id": lore.id,
        "title": lore.title,
        "content": lore.content,
        "context": _context(lore.context),
        "category": lore.category,
        "confidence": lore.confidence,
        "stated": lore.prior / 1000,
        "state": lore.state,
        "validation_count": lore.validation_count,
        "last_validated": _time(lore.last_validated),
        "type": lore.type,
        "status": lore.status,
        "tags": list(lore.tags),
        "files": list(lore.files),
        "entities": list(lore.entities),
        "relations": [{"kind": relation.kind, "id": relation.id} for relation in lore.relations],
        "merged_from": list(lore.merged_from),
        "importance": lore.importance,
        "pinned": lore.pinned,
        "expires_at": _time(lore.expires_at),
        "agent": lore.agent,
        "source_id": lore.source_id,
        "sources": list(lore.sources),
        "created_at": render(lore.created_at),
        "updated_at": render(lore.updated_at),
        "votes": {clone: vote._asdict() for clone, vote in lore.accounts.items()},
        "conflicts": [
            {"field": c.field, "value": c.value, "from": c.source, "at": c.at} for c in lore.conflicts
        ],
        "path": path,
    }


def _context(context: tuple[str, ...]) -> str | list[str] | None:
    if len(context) > 1:
        return list(context)
    return context[0] if context else None


def _time(moment: datetime | None) -> str | None:
    return render(moment) if moment else None
