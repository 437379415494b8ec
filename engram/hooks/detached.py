"""The process that a hook leaves behind: reports become lore, the store is tidied and synced, silently."""

from __future__ import annotations

import sys

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store

NETWORK_SECONDS = 60.0


def main(root: str, what: str) -> int:
    """Do what hooks left for later at the store at `root`; `what` is `pull`, or `all` to push as well."""
    from engram.domain.errors import EngramError
    from engram.usecases.agents.session_capture import persist
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller
    from engram.usecases.upkeep.background import tidy

    try:
        store = open_store(root, Caller("background", "", "background"))
        try:
            persist(store)
            tidy(store)
            if store.settings.flag("hooks.sync"):
                _sync(store, push=what == "all")
        finally:
            store.close()
    except (EngramError, OSError):
        return 1
    return 0


def _sync(store: Store, *, push: bool) -> None:
    """Bring a dedicated store and its remote together; trouble is left for `engram status` to show."""
    from engram.adapters.git.remote.remotes import remotes
    from engram.usecases.store.store import DEDICATED
    from engram.usecases.sync.sync import Options, sync
    from engram.usecases.upkeep.background import tidy

    repository = store.places.repository
    if store.places.placement != DEDICATED or repository is None or not remotes(repository):
        return
    sync(store, Options(push=push, timeout=NETWORK_SECONDS))
    tidy(store)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
