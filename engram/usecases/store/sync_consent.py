"""The user's consent to automatic syncs of this clone, by remote: private state that a pull cannot change.

Answers are stored by placement and a digest of the push addresses, so that consent to one remote covers neither another
one nor the same name with a different address.
"""

from __future__ import annotations

import contextlib
import os

from engram.adapters.files.durable import atomic
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.detached_process import CONSENT

if TYPE_CHECKING:
    from engram.usecases.store.store import Store

_ALLOWED, _REFUSED = "allowed", "refused"


def is_any_allowed(store: Store) -> bool:
    """Return whether a person allowed automatic syncs with any remote; cheap enough for every command."""
    return any(answer == _ALLOWED for answer in _read(store).values())


def is_person(store: Store) -> bool:
    """Return whether the caller is a person, at the command line, in the app or in their own program, and not an agent."""
    return not store.caller.agent and store.caller.via in ("cli", "tui", "python")


def covers(store: Store, remote: str) -> bool:
    """Return whether a person allowed automatic syncs with this remote as configured now."""
    return _read(store).get(_key(store, remote)) == _ALLOWED


def is_answered(store: Store, remote: str) -> bool:
    """Return whether a person allowed or refused automatic syncs with this remote as configured now."""
    return _key(store, remote) in _read(store)


def allow(store: Store, remote: str) -> None:
    """Take a person's own sync with a remote as their consent; if it cannot be stored, the next one counts."""
    if is_person(store):
        with contextlib.suppress(EngramError):
            grant(store, remote)


def grant(store: Store, remote: str) -> None:
    """Allow automatic syncs with a remote. Raises StoreError."""
    _answer(store, remote, _ALLOWED)


def refuse(store: Store, remote: str) -> None:
    """Store that a person refused automatic syncs with a remote, so that they are not asked again. Raises StoreError."""
    _answer(store, remote, _REFUSED)


def _answer(store: Store, remote: str, answer: str) -> None:
    found = {**_read(store), _key(store, remote): answer}
    lines = "".join(f"{answer} {key}\n" for key, answer in found.items())
    atomic.write(_path(store), lines.encode(), CONSENT, 0o600)


def _read(store: Store) -> dict[str, str]:
    """Return the answers by key; damaged lines are skipped."""
    try:
        lines = atomic.read(_path(store)).decode("ascii", "replace").splitlines()
    except EngramError:
        return {}
    parts = [line.split(" ", 1) for line in lines]
    return {part[1]: part[0] for part in parts if len(part) == 2 and part[0] in (_ALLOWED, _REFUSED)}


def _key(store: Store, remote: str) -> str:
    from engram.adapters.git.remote.remotes import push_addresses

    addresses = push_addresses(store.repository, remote)
    return f"{store.places.placement} {atomic.digest(chr(10).join(addresses).encode())}"


def _path(store: Store) -> str:
    return os.path.join(store.places.state, CONSENT)
