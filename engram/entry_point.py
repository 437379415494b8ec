"""`engram.open`: from a path, or none, to an open store."""

from __future__ import annotations

import os

from engram.adapters.agents.session import agent_name, session_name
from engram.app import Engram
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.opening.open_store import open_store
from engram.usecases.store.store import Caller, Clock

if TYPE_CHECKING:
    from collections.abc import Mapping


def open_engram(
    path: str | os.PathLike[str] | None = None,
    *,
    scope: str = "",
    session: str = "",
    agent: str = "",
    clock: Clock | None = None,
    environment: Mapping[str, str] | None = None,
    background: bool = True,
    working: str | None = None,
) -> Engram:
    """Open the store at or above `path` (default: the one around the working folder, else the user's own).

    An empty folder, or a path that does not exist, becomes a new store, as with `engram init`. `session` and `agent`
    default to those of the environment, `working` to the current folder. `scope` selects a store by name: `session`,
    `project`, `user` or a team's.
    Raises NotFoundError, UsageError, StoreError, ConfigError.
    """
    variables = os.environ if environment is None else environment
    chosen = None
    if path is not None:
        chosen = os.path.abspath(os.path.expanduser(os.fspath(path)))
        if _is_vacant(chosen):
            from engram.usecases.opening.init import init

            init(chosen)
    caller = Caller(session or session_name(variables), agent or agent_name(variables), "python")
    start = variables.get("ENGRAM_STORE") or None
    store = open_store(chosen, caller, scope=scope, clock=clock, start=start, working=working)
    return Engram(store, background=background)


def _is_vacant(path: str) -> bool:
    """Return whether a store can be created at `path`: it does not exist, or is an empty folder outside any store."""
    from engram.usecases.opening.store_layout import enclosing_store

    return enclosing_store(path) is None and (
        not os.path.exists(path) or (os.path.isdir(path) and not os.listdir(path))
    )
