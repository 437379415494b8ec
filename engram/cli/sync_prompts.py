"""Consent to automatic sync: a person gives it once for each clone and remote."""

from __future__ import annotations

import os

from engram.cli.invocation import Call, current_caller
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.adapters.git.remote.remotes import Remote
    from engram.usecases.store.store import Store


def ask_to_sync(call: Call, path: str | None = None) -> None:
    """Ask a person at a terminal, once, whether the store at `path` (default: the current one) may sync by itself.

    `--yes` answers the question. It is not asked if there is no remote or no store yet, and never to an agent.
    """
    if not (call.arguments.yes or call.is_interactive):
        return
    from engram.usecases.store import sync_consent
    from engram.usecases.upkeep.background import start_sync

    def ask(store: Store, remote: Remote) -> None:
        if sync_consent.is_answered(store, remote.name):
            return
        question = (
            f"Sync the lore of {store.places.root} with {remote.name} ({remote.url}) by itself from now on? It is sent"
            " there at the end of sessions and after changes."
        )
        if call.arguments.yes or call.confirm(question):
            _allow(call, store, remote.name)
            start_sync(store)
        else:
            sync_consent.refuse(store, remote.name)
            call.output.dim("It does not sync by itself. Allow it later: engram sync --yes")

    _with_remote(call, path, ask, "Engram could not ask whether it may sync by itself")


def allow_cloned(call: Call, path: str) -> None:
    """Let a store that a person has just cloned sync with its remote by itself, as cloning it implies consent."""
    failure = "It does not sync by itself yet"
    _with_remote(call, path, lambda store, remote: _allow(call, store, remote.name), failure)


def _with_remote(call: Call, path: str | None, work: Callable[[Store, Remote], None], failure: str) -> None:
    """Call `work` with a store and its remote, if both exist and a person is calling. `failure` introduces errors."""
    store = _open_store(path)
    if store is None:
        return
    from engram.usecases.store import sync_consent
    from engram.usecases.sync.auto_sync import remote_of_store

    try:
        remote = remote_of_store(store)
        if remote is not None and sync_consent.is_person(store):
            work(store, remote)
    except EngramError as error:
        call.output.note(f"{failure}: {error.message}")
    finally:
        store.close()


def _allow(call: Call, store: Store, remote: str) -> None:
    from engram.usecases.store import sync_consent

    sync_consent.grant(store, remote)
    call.output.dim(
        f"It syncs with {remote} by itself from now on. Off: engram config sync.auto false --user"
    )


def _open_store(path: str | None) -> Store | None:
    """Open the store at a path (default: the current one); None if there is none yet, or it cannot be opened."""
    from engram.usecases.opening.open_store import is_first_run, open_store

    try:
        if path is None and is_first_run(os.getcwd()):
            return None
        return open_store(path, current_caller())
    except EngramError:
        return None
