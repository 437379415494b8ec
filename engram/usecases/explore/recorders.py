"""The people who recorded entries that have no author, as the history of the store names them."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.people import authors_of

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Catalog
    from engram.usecases.store.store import Store

HUMAN, UNKNOWN = "human", "unknown"
# Those of an agent, and those without any.
_NAMELESS = {
    HUMAN: "agent = 'human' AND coalesce(author, '') = ''",
    UNKNOWN: "coalesce(agent, '') = '' AND coalesce(author, '') = ''",
}


def recorders(store: Store, catalog: Catalog) -> dict[str, dict[str, str]]:
    """Return by id who recorded the entries without an author: those of a `human`, and those of an unknown agent.

    As far as the history knows.
    """
    found = {}
    for who, condition in _NAMELESS.items():
        ids, _ = catalog.select_packed(("author",), condition, (), "ORDER BY id")
        names = authors_of(store, ids) if ids else {}
        found[who] = {one: names[one] for one in ids if names[one]}
    return found
