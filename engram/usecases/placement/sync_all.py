"""Sync every scope that has a remote, one after the other; if one fails, the others are still synced."""

from __future__ import annotations

from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.opening import scopes
from engram.usecases.opening.remote_address import remote_of
from engram.usecases.placement.manage_scopes import clone_missing
from engram.usecases.sync.sync import Options, Synced, sync

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.usecases.store.store import Store


class SyncedScope(NamedTuple):
    """The sync of one scope; `done` has its errors, even one that prevented the sync."""

    scope: str
    path: str
    done: Synced

    def as_dict(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return {"scope": self.scope, "path": self.path, **self.done.as_dict()}


def sync_all(store: Store, options: Options, step: Callable[[str], None] | None = None) -> list[SyncedScope]:
    """Sync the stores of all scopes that have a branch of their own and a remote.

    Clone configured teams' stores that are not on this machine yet. Expected errors are in the results, not raised.
    """
    found = []
    for name in scopes.reachable_scopes(store):
        path = scopes.root_of(store, name)
        try:
            if name in store.settings.teams():
                clone_missing(store.settings, name, timeout=options.timeout, step=step)
            if not scopes.exists(store, name):
                continue
            other = scopes.open_scope_of(store, name)
            if not other.places.owns_branch or not remote_of(other):
                continue
            report = None if step is None else _with_scope(name, step)
            found.append(SyncedScope(name, path, sync(other, options, report)))
        except EngramError as error:
            found.append(SyncedScope(name, path, Synced(errors=(error,))))
    return found


def _with_scope(name: str, step: Callable[[str], None]) -> Callable[[str], None]:
    return lambda text: step(f"{name}: {text}")
