"""What the command line says and asks about syncing by itself: a person allows it once for a clone and its remote."""

from __future__ import annotations

import os

from engram.cli.invocation import Call, caller_here
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.adapters.git.remote.remotes import Remote
    from engram.usecases.store.store import Store


def ask_to_sync(call: Call, path: str | None = None) -> None:
    """Ask a person at a terminal, once, whether the store at `path` may sync by itself; `--yes` answers it.

    Nothing is asked where there is no remote or no store yet, nor of an agent. Without a path: the store around here.
    """
    if not (call.arguments.yes or call.is_interactive):
        return
    from engram.usecases.store import sync_consent
    from engram.usecases.upkeep.background import sync_apart

    def ask(store: Store, remote: Remote) -> None:
        if sync_consent.is_asked(store, remote.name):
            return
        question = (
            f"Sync the lore of {store.places.root} with {remote.name} ({remote.url}) by itself from now on? It is sent"
            " there at the end of sessions and after changes."
        )
        if call.arguments.yes or call.confirm(question):
            _allow(call, store, remote.name)
            sync_apart(store)
        else:
            sync_consent.refuse(store, remote.name)
            call.output.rule("It does not sync by itself. Allow it later: engram sync --yes")

    _with_remote(call, path, ask, "Engram could not ask whether it may sync by itself")


def allow_cloned(call: Call, path: str) -> None:
    """Let a store that a person cloned from its remote sync with it by itself: that is what they cloned it for."""
    trouble = "It does not sync by itself yet"
    _with_remote(call, path, lambda store, remote: _allow(call, store, remote.name), trouble)


def _with_remote(call: Call, path: str | None, work: Callable[[Store, Remote], None], trouble: str) -> None:
    """Do `work` with the store at a path, or around here, and its remote; nothing without either, or for an agent."""
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
        call.output.note(f"{trouble}: {error.message}")
    finally:
        store.close()


def _allow(call: Call, store: Store, remote: str) -> None:
    from engram.usecases.store import sync_consent

    sync_consent.give(store, remote)
    call.output.rule(
        f"It syncs with {remote} by itself from now on. Off: engram config sync.auto false --user"
    )


def _open_store(path: str | None) -> Store | None:
    """Return the store at a path, or the one around here; None where there is none yet, or it cannot be opened."""
    from engram.usecases.opening.open_store import is_first_run, open_store

    try:
        if path is None and is_first_run(os.getcwd()):
            return None
        return open_store(path, caller_here())
    except EngramError:
        return None
