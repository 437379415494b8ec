"""The part of the Python API about entities: their types and relationships, and the lore about them."""

from __future__ import annotations

from engram.api.api_base import NOTHING, Part, Words, words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.domain.graph.entity import Entity
    from engram.usecases.graph.link_entity import Linked
    from engram.usecases.graph.neighbourhood import Neighbourhood


class Graphing(Part):
    """Entities, their relationships, and the lore about them; part of `engram.app.Engram`."""

    def entities(self) -> tuple[Entity, ...]:
        """Return all entities of this store, by slug. Unreadable files are left out: see `engram doctor`."""
        from engram.usecases.graph.entities import list_entities

        return list_entities(self.store)

    def entity(self, name: str) -> Entity | None:
        """Return the entity with a slug, name or alias, or None. Raises AmbiguousError."""
        from engram.usecases.graph.link_entity import find_entity

        return find_entity(self.store, name)

    def link_entity(
        self,
        name: str,
        *,
        type: str = "",  # noqa: A002
        aliases: Words = (),
        to: str = "",
        kind: str = "",
        since: str = "",
        lore: str = "",
        text: str = "",
        metadata: Mapping[str, str] = NOTHING,
        remove: bool = False,
    ) -> Linked:
        """Create or change an entity, relate it to another (`to`, `kind`, `since`), link an entry to it: one commit.

        `type` is person, project, company, concept or tool. `remove` removes what is given, or the entity if nothing is.
        Raises ValidationError, NotFoundError, AmbiguousError, UsageError, SecretFoundError, StoreError.
        """
        from engram.usecases.graph.link_entity import LinkRequest, link_entity

        wanted = LinkRequest(name, type, words(aliases), to, kind, since, lore, text, metadata, remove)
        return self._written(link_entity(self.store, wanted))

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
        """Return what is within `depth` steps (1 to 3) of an entity: `.entities` with the way to each, `.lore`, `.edges`.

        `entity` may name an entry, as for `get`: then `.entities` are its links. By default, return all entities, the
        most important first. `types` (`person`, …) are those to show, `kinds` the relationships to follow; `limit` is
        the most entities, and the most entries (None: all). Raises NotFoundError, AmbiguousError, UsageError, StoreError.
        """
        from engram.usecases.graph.neighbourhood import search_graph
        from engram.usecases.opening.scopes import open_scope_of

        return search_graph(
            open_scope_of(self.store, scope),
            entity,
            depth,
            types=words(types),
            kinds=words(kinds),
            limit=limit,
        )

    def refresh_importance(self) -> bool:
        """Recompute the importance of entities and entries if the graph has changed; return whether it had. Raises StoreError."""
        from engram.usecases.graph.graph_building import refresh_importance

        return refresh_importance(self.store)
