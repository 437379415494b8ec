"""The part of the Python API that asks a memory as a whole: levels, SQL, groups, joined lists, skills."""

from __future__ import annotations

from types import MappingProxyType

from engram.api.api_base import Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.explore.tables import Limits, Table
    from engram.usecases.agents.skills import Skill
    from engram.usecases.explore.explore import Explored

NOTHING: Mapping[str, object] = MappingProxyType({})


class Exploring(Part):
    """Finding one's way in a large memory; `engram.app.Engram` has all of it.

    `waiting=False` leaves out lore that waits for a person, as whatever is shown to an agent must.
    """

    def explore(
        self, depth: int = 0, *, scope: str = "", table: str = "", sample_size: int = 3, waiting: bool = True
    ) -> Explored:
        """Level by level, as `.tables`: 0 the scopes, 1 kinds and tables, 2 fields, 3 samples.

        `table` says of which table, `sample_size` how many rows. Raises UsageError, NotFoundError, StoreError.
        """
        from engram.usecases.explore.explore import explore

        return explore(self.store, depth, scope=scope, table=table, sample_size=sample_size, waiting=waiting)

    def execute(
        self,
        sql: str,
        parameters: Mapping[str, object] | Sequence[object] = NOTHING,
        *,
        scope: str = "",
        limits: Limits | None = None,
        waiting: bool = True,
    ) -> Table:
        """The answer to one SELECT: `.columns`, `.rows`, and `.truncated` where there were more.

        `parameters` are for `:name` or for `?`. `limits` are 50 rows, 20,000 characters and 2 seconds unless you say
        otherwise. Raises UsageError with what is wrong with the SQL, NotFoundError, StoreError.
        """
        from engram.usecases.explore.sql_query import DEFAULT, execute
        from engram.usecases.opening.scopes import reach

        return execute(reach(self.store, scope), sql, parameters, limits or DEFAULT, waiting=waiting)

    def peek(self, *, scope: str = "", samples: int = 3, waiting: bool = True) -> tuple[Table, ...]:
        """Counts by type and status, the commonest tags, dates, the best few entries. Raises NotFoundError, StoreError."""
        from engram.usecases.explore.explore import peek

        return peek(self.store, scope=scope, samples=samples, waiting=waiting)

    def partition(self, key: str, *, scope: str = "", limit: int = 20, waiting: bool = True) -> Table:
        """The largest groups by category, type, tag, agent, month, scope or file, each with what describes it.

        Raises UsageError, NotFoundError, StoreError.
        """
        from engram.usecases.explore.explore import partition

        return partition(self.store, key, scope=scope, limit=limit, waiting=waiting)

    def aggregate(
        self, lists: Sequence[Sequence[str]], *, k: int = 60, limit: int = 20, waiting: bool = True
    ) -> Table:
        """One list from several of ids or session refs, by reciprocal rank fusion.

        Raises UsageError, NotFoundError, StoreError.
        """
        from engram.usecases.explore.aggregate import aggregate

        return aggregate(self.store, lists, k=k, limit=limit, waiting=waiting)

    def skills(self) -> list[Skill]:
        """The skills of this store, those first that went well most often. Raises StoreError."""
        from engram.usecases.agents.skills import skills

        return skills(self.store)

    def recall_skill(
        self,
        task: str,
        *,
        execute: bool = False,
        parameters: Mapping[str, object] = NOTHING,
        waiting: bool = True,
    ) -> Skill | None:
        """The best skill for a task, None where none is near; `execute` runs its query on this store.

        What the query gave is `.result`, why it failed `.error`. Raises UsageError, ValidationError.
        """
        from engram.usecases.agents.skills import recall_skill

        return recall_skill(self.store, task, run=execute, parameters=parameters, waiting=waiting)

    def run_skill(self, name: str, parameters: Mapping[str, object] = NOTHING) -> Skill:
        """Run the query of a skill, by ref or id. Raises NotFoundError, AmbiguousError, UsageError for one without."""
        from engram.usecases.agents.skills import run_skill

        return run_skill(self.store, name, parameters)
