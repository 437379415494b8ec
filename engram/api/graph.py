"""The part of the Python API that walks over the graph of entities and lore."""

from __future__ import annotations

from engram.api.api_base import Part, Words, words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.graph.neighbourhood import Neighbourhood


class Graphing(Part):
    """Entities, how they are related, and the lore about them; `engram.app.Engram` has all of it."""

    def search_graph(
        self,
        entity: str = "",
        depth: int = 1,
        *,
        types: Words = (),
        kinds: Words = (),
        limit: int | None = 20,
        scope: str = "",
    ) -> Neighbourhood:
        """What is within `depth` steps (1 to 3) of an entity: `.entities` with the way to each, `.lore` about them, `.edges`.

        `entity` may name an entry, as for `get`: then `.entities` has what it is linked with. Without it all, the most
        important first. `types` (`person`, …) are those that are shown, `kinds` the relationships that may be gone; `limit`
        counts entities and lore each (None: all).
        Raises NotFoundError, AmbiguousError, UsageError, StoreError.
        """
        from engram.usecases.graph.neighbourhood import search_graph
        from engram.usecases.opening.scopes import reach

        return search_graph(
            reach(self.store, scope), entity, depth, types=words(types), kinds=words(kinds), limit=limit
        )

    def refresh_importance(self) -> bool:
        """Compute anew how important entities and entries are, if the graph changed since; whether it did. Raises StoreError."""
        from engram.usecases.graph.graph_building import refresh_importance

        return refresh_importance(self.store)
