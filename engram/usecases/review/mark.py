"""What tells that something a review item is about has changed since it was set aside."""

from __future__ import annotations

import hashlib

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.adapters.index.catalog import Hit


def mark(hits: Iterable[Hit]) -> str:
    """What changes when somebody changes one of these lore; not when it decays, which moves no date."""
    facts = [(hit.id, hit.updated_at, hit.status, hit.length) for hit in hits]
    return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()
