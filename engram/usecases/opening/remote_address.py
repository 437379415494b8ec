"""The address of a store's own remote."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def remote_of(store: Store) -> str:
    """Return the address of a store's own remote, without credentials; "" if it has none."""
    if store.places.repository is None:
        return ""
    from engram.adapters.git.remote.remotes import DEFAULT, remotes

    found = {remote.name: remote.url for remote in remotes(store.places.repository)}
    return found.get(DEFAULT, next(iter(found.values()), ""))
