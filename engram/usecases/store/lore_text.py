"""The text of an entry that words and vectors are made from, and its digest."""

from __future__ import annotations

import hashlib

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore


def searchable(lore: Lore) -> str:
    """Return the text of an entry that words and vectors are made from: content, context, tags, files, entities."""
    extra = [*lore.context, " ".join(lore.tags), " ".join(lore.files), " ".join(lore.entities)]
    return "\n".join([lore.content, *[part for part in extra if part]])


def text_digest(text: str) -> str:
    """Return a short digest of an entry's searchable text: equal texts need no new vector."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
