"""The part of the Python API about the memory as a whole: levels, SQL, groups, merged lists, skills."""

from __future__ import annotations

from engram.api.api_base import NOTHING, Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.explore.tables import Limits, Table
    from engram.usecases.agents.skills import Skill
    from engram.usecases.explore.explore import Explored


class Exploring(Part):
    """Exploring a large memory; part of `engram.app.Engram`.

    `waiting=False` leaves out entries that wait for a person, which agents must not see.
    """

    def explore(
        self, depth: int = 0, *, scope: str = "", table: str = "", sample_size: int = 3, waiting: bool = True
    ) -> Explored:
        """Return a level of the memory as `.tables`: 0 the scopes, 1 kinds and tables, 2 fields, 3 samples.

        `table` selects a table, `sample_size` the number of rows. Raises UsageError, NotFoundError, StoreError.
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
        """Run one SELECT: `.columns`, `.rows`, and `.truncated` if there were more rows.

        `parameters` are values for `:name` or `?`. `limits` are by default 50 rows, 20,000 characters and 2 seconds.
        Raises UsageError for an error in the SQL, NotFoundError, StoreError.
        """
        from engram.usecases.explore.sql_query import DEFAULT, execute
        from engram.usecases.opening.scopes import open_scope_of

        return execute(open_scope_of(self.store, scope), sql, parameters, limits or DEFAULT, waiting=waiting)

    def peek(self, *, scope: str = "", samples: int = 3, waiting: bool = True) -> tuple[Table, ...]:
        """Return counts by type and status, common tags, dates and the best entries. Raises NotFoundError, StoreError."""
        from engram.usecases.explore.explore import peek

        return peek(self.store, scope=scope, samples=samples, waiting=waiting)

    def partition(self, key: str, *, scope: str = "", limit: int = 20, waiting: bool = True) -> Table:
        """Return the largest groups by category, type, tag, agent, month, scope or file, with a description of each.

        Raises UsageError, NotFoundError, StoreError.
        """
        from engram.usecases.explore.explore import partition

        return partition(self.store, key, scope=scope, limit=limit, waiting=waiting)

    def aggregate(
        self, lists: Sequence[Sequence[str]], *, k: int = 60, limit: int = 20, waiting: bool = True
    ) -> Table:
        """Merge several lists of ids or session refs into one, by reciprocal rank fusion.

        Raises UsageError, NotFoundError, StoreError.
        """
        from engram.usecases.explore.aggregate import aggregate

        return aggregate(self.store, lists, k=k, limit=limit, waiting=waiting)

    def skills(self) -> list[Skill]:
        """Return the skills of this store, the most successful first. Raises StoreError."""
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
        """Return the best skill for a task, or None; `execute` runs its query on this store.

        `.result` is the result of the query, or `.error` why it failed. Raises UsageError, ValidationError.
        """
        from engram.usecases.agents.skills import recall_skill

        return recall_skill(self.store, task, run=execute, parameters=parameters, waiting=waiting)

    def run_skill(self, name: str, parameters: Mapping[str, object] = NOTHING) -> Skill:
        """Run the query of a skill, by ref or id. Raises NotFoundError, AmbiguousError, UsageError if it has none."""
        from engram.usecases.agents.skills import run_skill

        return run_skill(self.store, name, parameters)
