"""Entities that another memory kept: each becomes one here, or adds to the one of that name; then they are related."""

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


class Taken(NamedTuple):
    """An entity that was read, where, of which kind of memory, and whether there was none of its name here."""

    row: EntityRow
    where: str
    kind: str
    is_new: bool


class Entities:
    """The entities of one import."""

    def __init__(self, store: Store) -> None:
        """Nothing is read before the first entity."""
        self._store = store
        self.taken: list[Taken] = []

    @property
    def new(self) -> list[Taken]:
        """Those that were not here before."""
        return [one for one in self.taken if one.is_new]

    def take(self, row: EntityRow, where: str, kind: str) -> None:
        """Note an entity to be written."""
        _, names = entities_by_name(self._store)
        self.taken.append(Taken(row, where, kind, fold(row.name) not in names))

    def write(self) -> list[dict[str, object]]:
        """Write what is new of them, then how they are related; returns the problems. Raises nothing for a single one."""
        problems: list[dict[str, object]] = []
        for one in self.taken:
            alias = () if one.row.alias in ("", slug(one.row.name)) else (one.row.alias,)
            self._link(
                one, LinkRequest(one.row.name, one.row.type, alias, metadata=dict(one.row.metadata)), problems
            )
        for one in self.taken:
            for target, kind, since in one.row.related:
                self._link(one, LinkRequest(one.row.name, to=target, kind=kind, since=since), problems)
        return problems

    def _link(self, one: Taken, wanted: LinkRequest, problems: list[dict[str, object]]) -> None:
        try:
            link_entity(self._store, wanted)
        except EngramError as error:
            problems.append({"path": one.where, "message": error.message, "hint": error.hint})
