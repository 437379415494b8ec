"""Adding and forgetting a remote, each a `Deed`, so that it is logged, taken back and brought back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engram.adapters.git.run.failures import without_credentials
from engram_tui.shell.store_screen import Deed

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.app import Engram


def added(name: str, url: str) -> Deed:
    """Keep the store in common there, too."""
    return _remote(
        f"engram remote add {name} {without_credentials(url)}",
        f"{name} is where this store is kept in common now: s syncs",
        partial(_add, name, url),
        partial(_forget, name),
    )


def removed(name: str, url: str) -> Deed:
    """Forget a remote; `url` is what brings it back."""
    return _remote(
        f"engram remote remove {name}",
        f"{name} is forgotten; what is there stays there",
        partial(_forget, name),
        partial(_add, name, url),
    )


def _remote(command: str, said: str, does: Callable[[Engram], bool], back: Callable[[Engram], bool]) -> Deed:
    def work(store: Engram, _ids: tuple[str, ...]) -> str:
        does(store)
        return said

    return Deed("Remote", work, command, repeats=False, creates=True, back=back, again=does)


def _add(name: str, url: str, store: Engram) -> bool:
    store.add_remote(name, url)
    return True


def _forget(name: str, store: Engram) -> bool:
    store.remove_remote(name)
    return True
