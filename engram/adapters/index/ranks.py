"""How important each node of the graph is, kept in the catalog until the graph is another one."""

from __future__ import annotations

import sqlite3

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.index.catalog import Catalog

_DIGEST = "graph"
_WAIT_MS = 200  # for another process that writes; importance can wait


def has_ranks(connection: sqlite3.Connection) -> bool:
    """Whether any are kept."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM ranks)").fetchone()[0])


def kept_digest(catalog: Catalog) -> str:
    """The digest of the graph that the kept ones are of; "" if there are none."""
    found = catalog.connection.execute("SELECT value FROM meta WHERE key = ?", (_DIGEST,)).fetchone()
    return str(found[0]) if found else ""


def kept(catalog: Catalog, nodes: Sequence[str] | None = None) -> dict[str, float]:
    """The importance of these nodes, as far as it is known (None: of all); lore are nodes by their id."""
    query = "SELECT node, importance FROM ranks"
    return dict(
        catalog.connection.execute(query) if nodes is None else catalog.where_in(query, "node", nodes)
    )


def keep(catalog: Catalog, digest: str, importance: Mapping[str, float]) -> bool:
    """Keep them in place of those before; False where another process is writing just now."""
    connection = catalog.connection
    connection.execute(f"PRAGMA busy_timeout={_WAIT_MS}")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.execute("PRAGMA busy_timeout=10000")
    try:
        connection.execute("DELETE FROM ranks")
        connection.executemany("INSERT INTO ranks VALUES (?, ?)", sorted(importance.items()))
        catalog.set_meta({_DIGEST: digest})
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.execute("ROLLBACK")
        raise
    return True
