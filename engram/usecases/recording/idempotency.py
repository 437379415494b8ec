"""Idempotency keys: a call with a key is carried out once; the same call again gets the same answer.

The key is stored durably before anything is done, together with the id for an entry that the call makes. So a call
that was interrupted can be repeated too: what it wrote is found under that id.
"""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.files.durable.lock import FileLock
from engram.adapters.state.durable import KEYS, DurableDatabase
from engram.adapters.state.key_table import SCHEMA, KeyTable
from engram.domain.errors import ConflictError, EngramError, StoreError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from engram.usecases.store.store import Store

LONGEST_KEY = 200


class Once(NamedTuple):
    """The answer as JSON values, and whether it is that of an earlier call."""

    answer: Any
    repeated: bool


class Attempt(NamedTuple):
    """The id for an entry that the call makes, and whether an earlier attempt may have made it."""

    id: str
    again: bool


def once(store: Store, key: str, request: object, do: Callable[[Attempt], object]) -> Once:
    """Return what `do` returns (JSON values), or what it returned to the same `request` with this key before.

    Raises ValidationError for what is no key, ConflictError where the key was used for another request, StoreError
    where keys cannot be kept, and whatever `do` raises; then the key may be used again.
    """
    check_key(key)
    asked = _digest(request)
    with store.lock, FileLock(os.path.join(store.places.state, "keys.lock")):
        table = key_table(store)
        now = store.clock.now().timestamp()
        kept = table.find(key, now)
        if kept is not None and kept.request != asked:
            raise ConflictError(
                "This key was used for another request.", "Send each new request with a key of its own."
            )
        if kept is not None and kept.answer is not None:
            return Once(json.loads(kept.answer), repeated=True)
        attempt = Attempt(kept.id if kept else store.clock.new_id(), kept is not None)
        if kept is None:
            table.begin(key, asked, attempt.id, now)
        answer = _tried(table, key, attempt, do)
        with contextlib.suppress(StoreError):  # it is done: whoever asks again finds it under its id
            table.finish(key, json.dumps(answer, ensure_ascii=False))
        return Once(answer, repeated=False)


def _tried(table: KeyTable, key: str, attempt: Attempt, do: Callable[[Attempt], object]) -> object:
    try:
        return do(attempt)
    except StoreError:
        raise  # something may have been written: another attempt must know its id
    except EngramError:
        if not attempt.again:
            with contextlib.suppress(StoreError):
                table.forget(key)
        raise


def check_key(key: str) -> None:
    """Raise ValidationError for what cannot be a key."""
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise ValidationError(
            "key",
            f"A key has 1 to {LONGEST_KEY} printable ASCII characters.",
            "A UUID made for each new request will do.",
        )


def key_table(store: Store) -> KeyTable:
    """Return the calls with a key that this clone keeps."""
    path = os.path.join(store.places.state, KEYS)
    if path not in store.durable:
        store.durable[path] = DurableDatabase(path, SCHEMA, store.degraded.append)
    return KeyTable(store.durable[path])


def _digest(request: object) -> str:
    from hashlib import blake2b

    said = json.dumps(request, ensure_ascii=False, sort_keys=True, default=str)
    return blake2b(said.encode("utf-8", "replace"), digest_size=16).hexdigest()
