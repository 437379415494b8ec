"""The people who recorded entries without an author, from the history of the store."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.people import authors_of

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Catalog
    from engram.usecases.store.store import Store

HUMAN, UNKNOWN = "human", "unknown"
# Conditions for the entries without an author: those of a person, and those of an unknown agent.
_NAMELESS = {
    HUMAN: "agent = 'human' AND coalesce(author, '') = ''",
    UNKNOWN: "coalesce(agent, '') = '' AND coalesce(author, '') = ''",
}


def find_recorders(store: Store, catalog: Catalog) -> dict[str, dict[str, str]]:
    """Return the names of those who recorded entries without an author, by id, as far as the history has them.

    Entries of HUMAN and those of an UNKNOWN agent are apart.
    """
    found = {}
    for label, condition in _NAMELESS.items():
        ids, _ = catalog.select_packed(("author",), condition, (), "ORDER BY id")
        names = authors_of(store, ids) if ids else {}
        found[label] = {lore_id: names[lore_id] for lore_id in ids if names[lore_id]}
    return found
