"""The tags that a store already uses, for completion."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.index_query import query_index

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def tags(store: Store, prefix: str = "", limit: int = 100) -> list[str]:
    """Return the tags that begin with `prefix`, ignoring case, most frequent first. Raises StoreError."""
    with store.lock:
        counted = query_index(store, lambda generation: generation.catalog.count_tags())
    folded = prefix.casefold()
    return [tag for tag in counted if tag.casefold().startswith(folded)][:limit]
