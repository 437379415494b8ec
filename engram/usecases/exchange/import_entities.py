"""Import entities of another memory: create each, or add to the one of that name; then relate them."""

from __future__ import annotations

from engram.domain.entry.lore import slug
from engram.domain.entry.refs import fold
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.graph.entities import entities_by_name
from engram.usecases.graph.link_entity import LinkRequest, link_entity

if TYPE_CHECKING:
    from engram.adapters.files.foreign.tool_rows import EntityRow
    from engram.usecases.store.store import Store


class ImportedEntity(NamedTuple):
    """An entity, where it was read, the kind of memory, and whether the store had none of its name."""

    row: EntityRow
    where: str
    kind: str
    is_new: bool


class EntityImport:
    """The entities of one import."""

    def __init__(self, store: Store) -> None:
        """Read nothing before the first entity."""
        self._store = store
        self.entities: list[ImportedEntity] = []

    @property
    def new(self) -> list[ImportedEntity]:
        """The entities that the store did not have."""
        return [entity for entity in self.entities if entity.is_new]

    def add(self, row: EntityRow, where: str, kind: str) -> None:
        """Add an entity to be written."""
        _, names = entities_by_name(self._store)
        self.entities.append(ImportedEntity(row, where, kind, fold(row.name) not in names))

    def write(self) -> list[dict[str, object]]:
        """Write the entities, then their relationships; return the problems. An invalid entity raises nothing."""
        problems: list[dict[str, object]] = []
        for entity in self.entities:
            row = entity.row
            alias = () if row.alias in ("", slug(row.name)) else (row.alias,)
            request = LinkRequest(row.name, row.type, alias, metadata=dict(row.metadata))
            self._link(entity, request, problems)
        for entity in self.entities:
            for target, kind, since in entity.row.related:
                request = LinkRequest(entity.row.name, to=target, kind=kind, since=since)
                self._link(entity, request, problems)
        return problems

    def _link(self, entity: ImportedEntity, request: LinkRequest, problems: list[dict[str, object]]) -> None:
        try:
            link_entity(self._store, request)
        except EngramError as error:
            problems.append({"path": entity.where, "message": error.message, "hint": error.hint})
