"""SQL queries on a store: read-only, on documented views, within limits."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager

from engram.adapters.index.views import CATALOG
from engram.adapters.index.views import VIEWS as CATALOG_VIEWS
from engram.adapters.sql.guarded import Guarded
from engram.adapters.state.views import HISTORY, JUDGED, STATE
from engram.adapters.state.views import VIEWS as STATE_VIEWS
from engram.domain.entry.lore import PENDING
from engram.domain.explore import sql_text
from engram.domain.explore.tables import Limits, Table, View
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.index_query import query_index
from engram.usecases.store import judgements, quarantine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.index.catalog import Catalog, Hit
    from engram.adapters.sql.guarded import Parameters
    from engram.usecases.store.store import Store

VIEWS: Sequence[View] = (*CATALOG_VIEWS, *STATE_VIEWS)
# The names of tables in prompts written for other memories.
OTHER_NAMES = {
    "memory": "lore",
    "entity": "entities",
    "relates_to": "relations",
    "retrieval_log": "retrievals",
}
DEFAULT = Limits()
_NAME = "answer"


def execute(
    store: Store, sql: str, parameters: Parameters = (), limits: Limits = DEFAULT, *, waiting: bool = True
) -> Table:
    """Run one SELECT on `VIEWS` of this store. `waiting` says whether it sees pending and quarantined entries.

    `parameters` are named (`:name`) or positional (`?`). Raises UsageError for an invalid statement, StoreError.
    """
    return answer(prepare(store, sql, waiting=waiting), sql, parameters, limits)


def prepare(store: Store, sql: str, *, waiting: bool) -> Guarded:
    """Open a connection for this SELECT, to be passed to `answer` without the store. Raises UsageError, StoreError."""
    sql_text.check(sql)
    return _open(store, sql, waiting=waiting)


def answer(guarded: Guarded, sql: str, parameters: Parameters = (), limits: Limits = DEFAULT) -> Table:
    """Run a SELECT on a connection and close it. Raises UsageError for an invalid statement."""
    with closing(guarded):
        return guarded.ask(_NAME, sql, parameters, limits)


@contextmanager
def open_guarded(store: Store, sql: str, *, waiting: bool) -> Iterator[Guarded]:
    """Open a connection for the tables that `sql` mentions. Raises StoreError."""
    with closing(_open(store, sql, waiting=waiting)) as guarded:
        yield guarded


def _open(store: Store, sql: str, *, waiting: bool) -> Guarded:
    words = sql.lower()
    others = {name: view for name, view in OTHER_NAMES.items() if name in words}
    words += " ".join(others.values())
    views = [
        *VIEWS,
        *(view._replace(name=name) for name in others for view in VIEWS if view.name == others[name]),
    ]
    with store.lock:
        path, hidden = query_index(
            store, lambda found: (found.catalog.path, [] if waiting else _hidden_ids(store, found.catalog))
        )
        databases = {
            CATALOG: path,
            STATE: _prepare_log(store) if "retrievals" in words else "",
            HISTORY: _prepare_history(store) if "history" in words else "",
            JUDGED: _prepare_judgements(store) if "judgements" in words else "",
        }
        return Guarded(databases, views, hidden)


def _hidden_ids(store: Store, catalog: Catalog) -> list[str]:
    """Return the ids of entries shown to people only."""
    ids = list(quarantine.quarantined_texts(store))
    hits = [hit for start in range(0, len(ids), 500) for hit in _select(catalog, ids[start : start + 500])]
    released = {hit.id for hit in quarantine.without_quarantined(store, hits)}
    pending = catalog.select("status = ?", (PENDING,))
    return [hit.id for hit in pending] + [hit.id for hit in hits if hit.id not in released]


def _select(catalog: Catalog, ids: Sequence[str]) -> Sequence[Hit]:
    return catalog.select(f"id IN ({','.join('?' * len(ids))})", ids)


def _prepare_log(store: Store) -> str:
    """Return the file of the activity log, with all pending writes; "" if there is none."""
    state = store.session_state
    state.live.flush()
    state.run("SELECT 1")
    return state.path if state.is_on_disk else ""


def _prepare_judgements(store: Store) -> str:
    """Return the updated file of all judgements; "" if there are none. Raises StoreError, GitError."""
    home = store.original or store
    return home.judgements.file if judgements.refresh(home) else ""


def _prepare_history(store: Store) -> str:
    """Return the updated file of the history table; "" outside git."""
    if store.places.repository is None:
        return ""
    from engram.adapters.state.history_table import table_path
    from engram.usecases.history.history_feed import with_history
    from engram.usecases.history.log import WAIT_SECONDS
    from engram.usecases.store.commit import commit_quietly

    commit_quietly(store, wait=WAIT_SECONDS)
    with_history(store, lambda _table: None)
    path = table_path(store.places.state)
    return path if os.path.exists(path) else ""
