"""The part of the Python API about entities: what they are, how they are related, which lore is about them."""

from __future__ import annotations

from types import MappingProxyType

from engram.api.api_base import Part, Words, words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.domain.graph.entity import Entity
    from engram.usecases.graph.link_entity import Linked
    from engram.usecases.graph.neighbourhood import Neighbourhood

NOTHING: Mapping[str, str] = MappingProxyType({})


class Graphing(Part):
    """Entities, how they are related, and the lore about them; `engram.app.Engram` has all of it."""

    def entities(self) -> tuple[Entity, ...]:
        """All entities of this store, by slug. Files that cannot be read are left out: see `doctor`."""
        from engram.usecases.graph.entities import list_entities

        return list_entities(self.store)

    def entity(self, name: str) -> Entity | None:
        """The entity that a slug, a name or an alias means; None where there is none. Raises AmbiguousError."""
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
        """Make or change an entity, relate it to another (`to`, `kind`, `since`), name it in an entry: one commit.

        `type` is person, project, company, concept or tool. With `remove` what is named is taken away, or without any
        of it the entity. Raises ValidationError, NotFoundError, AmbiguousError, UsageError, SecretFoundError, StoreError.
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
