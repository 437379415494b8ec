"""The words that a store already uses: its tags, for whoever is about to type one."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.index_query import consult

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def tags(store: Store, prefix: str = "", limit: int = 100) -> list[str]:
    """The tags that begin with `prefix`, whatever their case, the most used first. Raises StoreError."""
    with store.lock:
        counted = consult(store, lambda generation: generation.catalog.count_tags())
    wanted = prefix.casefold()
    return [tag for tag in counted if tag.casefold().startswith(wanted)][:limit]
