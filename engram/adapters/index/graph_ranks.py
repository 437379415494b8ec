"""The importance of each node of the graph, kept in the catalog until the graph changes."""

from __future__ import annotations

import sqlite3

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.index.catalog import Catalog

_STAMP, _DIGEST = "graph_stamp", "graph_digest"
_WAIT_MS = 200  # for another writing process; importance is not urgent


class RankedGraph(NamedTuple):
    """The graph to which the stored importance belongs: the stamp of its sources, and its digest ("": nothing is stored)."""

    stamp: str = ""
    digest: str = ""


def has_ranks(connection: sqlite3.Connection) -> bool:
    """Return whether any importance is stored."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM ranks)").fetchone()[0])


def ranked_graph(catalog: Catalog) -> RankedGraph:
    """Return the graph of the stored importance."""
    found = dict(
        catalog.connection.execute("SELECT key, value FROM meta WHERE key IN (?, ?)", (_STAMP, _DIGEST))
    )
    return RankedGraph(str(found.get(_STAMP, "")), str(found.get(_DIGEST, "")))


def load_ranks(catalog: Catalog, nodes: Sequence[str] | None = None) -> dict[str, float]:
    """Return the known importance of these nodes (None: of all); an entry's node is its id."""
    query = "SELECT node, importance FROM ranks"
    return dict(
        catalog.connection.execute(query) if nodes is None else catalog.where_in(query, "node", nodes)
    )


def save_ranks(catalog: Catalog, known: RankedGraph, importance: Mapping[str, float] | None) -> bool:
    """Replace the stored importance (None: only its stamp); False if another process is writing."""
    connection = catalog.connection
    connection.execute(f"PRAGMA busy_timeout={_WAIT_MS}")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.execute("PRAGMA busy_timeout=10000")
    try:
        if importance is not None:
            connection.execute("DELETE FROM ranks")
            connection.executemany("INSERT INTO ranks VALUES (?, ?)", sorted(importance.items()))
        catalog.set_meta({_STAMP: known.stamp, _DIGEST: known.digest})
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.execute("ROLLBACK")
        raise
    return True
