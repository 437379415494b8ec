"""Finding one's way in a large memory, level by level: scopes, kinds, fields, samples. Each level costs little by itself."""

from __future__ import annotations

import contextlib

from engram.domain.errors import UsageError
from engram.domain.explore.tables import Limits, Table
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.explore.sql_query import VIEWS, asking
from engram.usecases.opening import scopes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.sql.guarded import Guarded
    from engram.domain.explore.tables import Cell, View
    from engram.usecases.store.store import Store

SCOPES, KINDS, FIELDS, SAMPLES = LEVELS = range(4)
MOST_SAMPLES = 20
LIMITS = Limits(rows=200, characters=40_000, seconds=20.0)  # for questions of Engram's own
_COUNTS = (
    "SELECT count(*) AS lore, coalesce(sum(status = 'active'), 0) AS active, coalesce(sum(status = 'pending'), 0) AS pending,"
    " max(updated_at) AS newest FROM lore"
)
_KINDS = (
    "SELECT category, type, count(*) AS lore, sum(status = 'active') AS active, round(avg(confidence), 2) AS confidence,"
    " sum(helpful) AS helpful, max(updated_at) AS newest FROM lore GROUP BY category, type ORDER BY lore DESC, category"
)


class Explored(NamedTuple):
    """One level: what is there, as tables."""

    depth: int
    scope: str
    tables: tuple[Table, ...]

    def as_dict(self) -> dict[str, object]:
        """The level as JSON."""
        return {**self._asdict(), "tables": [table.as_dict() for table in self.tables]}


def explore(
    store: Store,
    depth: int = 0,
    *,
    scope: str = "",
    table: str = "",
    sample_size: int = 3,
    waiting: bool = True,
) -> Explored:
    """Level 0: how many lore each scope has; 1: of which kinds, and what tables there are; 2: their fields; 3: samples.

    Level 2 says of a named table also what its fields hold; level 3 is of the named one, or of `lore`.
    Raises UsageError, NotFoundError, StoreError.
    """
    if depth not in LEVELS:
        raise UsageError(
            f"There is no depth {depth}.", "0: scopes, 1: kinds and tables, 2: fields, 3: samples."
        )
    if not 1 <= sample_size <= MOST_SAMPLES:
        raise UsageError(f"{sample_size} rows cannot be shown.", f"sample_size is from 1 to {MOST_SAMPLES}.")
    views = _named(table)
    if depth == SCOPES:
        return Explored(depth, scope, (_scopes(store, scope, waiting=waiting),))
    wanted = scopes.reach(store, scope)
    # Reading a long history for the first time takes its time: only who names it waits for that.
    with asking(wanted, f"retrievals {table}", waiting=waiting) as guarded:
        if depth == KINDS:
            tables: tuple[Table, ...] = (guarded.ask("kinds", _KINDS, (), LIMITS), _tables(guarded, views))
        elif depth == FIELDS:
            tables = (_fields(guarded, views[0]),) if table else tuple(map(_described, views))
        else:
            tables = (_samples(guarded, views[0], sample_size),)
    return Explored(depth, wanted.places.scope, tables)


def _named(table: str) -> list[View]:
    found = [view for view in VIEWS if table in ("", view.name)]
    if not found:
        raise UsageError(
            f"There is no table '{table}'.", f"Tables: {', '.join(view.name for view in VIEWS)}."
        )
    return found


def stores(store: Store, scope: str) -> Iterator[tuple[str, Store]]:
    """The stores of the named scope or of all, with their names; one that cannot be opened is left out, unless it was named."""
    if scope:
        yield scope, scopes.reach(store, scope)
        return
    for name in scopes.known(store):
        with contextlib.suppress(*scopes.TROUBLE):
            if scopes.exists(store, name):
                yield name, scopes.reach(store, name)


def _scopes(store: Store, scope: str, *, waiting: bool) -> Table:
    """How many lore each scope has."""
    rows: list[tuple[Cell, ...]] = []
    columns: tuple[str, ...] = ("scope",)
    for name, one in stores(store, scope):
        with asking(one, "", waiting=waiting) as guarded:
            counts = guarded.ask("scopes", _COUNTS, (), LIMITS)
        rows.append((name, *counts.rows[0]))
        columns = ("scope", *counts.columns)
    return Table("scopes", columns, tuple(rows))


def _tables(guarded: Guarded, views: list[View]) -> Table:
    rows = [(view.name, _count(guarded, view), view.what) for view in views]
    return Table("tables", ("table", "rows", "what"), tuple(rows))


def _count(guarded: Guarded, view: View) -> Cell:
    if view.name == "history":
        return None
    return guarded.ask(view.name, f"SELECT count(*) FROM {view.name}", (), LIMITS).rows[0][0]  # noqa: S608 - fixed names


def _described(view: View) -> Table:
    return Table(view.name, ("field", "type", "what"), view.columns)


def _fields(guarded: Guarded, view: View) -> Table:
    """Of each column of one table: type, meaning, how many rows have it, how many values, the lowest and the highest."""
    sums = ", ".join(
        f"count(nullif({name}, '')), count(DISTINCT {name}), substr(min({name}), 1, 40), substr(max({name}), 1, 40)"
        for name in (column.name for column in view.columns)
    )
    found = guarded.ask(view.name, f"SELECT {sums} FROM {view.name}", (), LIMITS).rows[0]  # noqa: S608 - fixed names
    rows = [(*column, *found[4 * at : 4 * at + 4]) for at, column in enumerate(view.columns)]
    return Table(view.name, ("field", "type", "what", "filled", "values", "lowest", "highest"), tuple(rows))


def _samples(guarded: Guarded, view: View, count: int) -> Table:
    """Rows from all over the table, the same ones each time."""
    query = (
        f"WITH numbered AS (SELECT *, row_number() OVER () - 1 AS place, count(*) OVER () AS total FROM {view.name})"  # noqa: S608
        f" SELECT {', '.join(column.name for column in view.columns)} FROM numbered"
        " WHERE place * :count / total != (place - 1) * :count / total OR place = 0 LIMIT :count"
    )
    return guarded.ask(view.name, query, {"count": count}, LIMITS)
