"""Record, put, edit and forget with an idempotency key: a repeated call does nothing and gets the same answer."""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.files.durable.lock import FileLock
from engram.adapters.files.frontmatter import codec
from engram.adapters.state.durable import KEYS, DurableDatabase
from engram.adapters.state.key_table import SCHEMA, KeyTable
from engram.domain.errors import ConflictError, EngramError, NotFoundError, StoreError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.lookup.listing import Shown
from engram.usecases.lookup.resolve import resolve
from engram.usecases.opening import scopes
from engram.usecases.recording import edit, forget, record, upsert
from engram.usecases.recording.admission_policy import Contradiction
from engram.usecases.recording.record import Draft, Recorded
from engram.usecases.recording.upsert import UpsertResult
from engram.usecases.similarity.near_duplicates import Similar
from engram.usecases.store import entry_writer, judgements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from engram.domain.entry.lore import Lore
    from engram.usecases.recording.edit import Edit
    from engram.usecases.store.store import Store


def record_once(store: Store, draft: Draft, key: str) -> Recorded:
    """Call `record` once for this key. Raises as `record` and `run_once`."""

    def do(attempt: Attempt) -> dict[str, object]:
        done = _find_earlier(store, attempt) or record.record(store, draft, attempt.id)
        return {**done._asdict(), "lore": _text(scopes.open_scope_of(store, done.scope), done.lore)}

    found = run_once(store, key, ["record", draft._asdict()], do).answer
    twins = tuple(Similar(*twin) for twin in found["similar"])
    contradictions = tuple(Contradiction(*values) for values in found["contradictions"])
    lore = _lore(scopes.open_scope_of(store, found.get("scope", "")), found["lore"], found["path"])
    return Recorded(**{**found, "lore": lore, "similar": twins, "contradictions": contradictions})


def put_once(
    store: Store, lore_id: str, draft: Draft, key: str, *, digest: str = "", new: bool = False
) -> UpsertResult:
    """Call `put` once for this key. Raises as `put` and `run_once`."""

    def do(_: Attempt) -> dict[str, object]:
        done = upsert.upsert(store, lore_id, draft, digest=digest, new=new)
        return {**done._asdict(), "shown": _pack(store, done.shown)}

    found = run_once(store, key, ["put", lore_id, draft._asdict(), digest, new], do).answer
    return UpsertResult(**{**found, "shown": _unpack(store, found["shown"])})


def edit_once(store: Store, name: str, wanted: Edit, key: str, *, digest: str = "") -> Shown:
    """Call `edit` once for this key. Raises as `edit` and `run_once`."""
    request = ["edit", name, wanted._asdict(), digest]
    found = run_once(store, key, request, lambda _: _pack(store, edit.edit(store, name, wanted, digest)))
    return _unpack(store, found.answer)


def forget_once(store: Store, names: Sequence[str], key: str, *, digest: str = "") -> list[Shown]:
    """Call `forget` once for this key. Raises as `forget` and `run_once`."""

    def do(_: Attempt) -> list[object]:
        return [_pack(store, shown) for shown in forget.forget(store, names, digest)]

    found = run_once(store, key, ["forget", list(names), digest], do)
    return [_unpack(store, shown) for shown in found.answer]


def _find_earlier(store: Store, attempt: Attempt) -> Recorded | None:
    """Return what an earlier, interrupted attempt recorded, or None."""
    if not attempt.again:
        return None
    try:
        found = resolve(store, attempt.id)
    except NotFoundError:
        return None
    lore, scope = entry_writer.load(found.store, found.path).lore, found.store.places.scope
    return Recorded(lore, found.path, (), record.RECORDED, 0, scope=scope)


def _pack(store: Store, shown: Shown) -> dict[str, object]:
    return {**shown._asdict(), "lore": _text(store, shown.lore)}


def _unpack(store: Store, found: dict[str, Any]) -> Shown:
    return Shown(**{**found, "lore": _lore(store, found["lore"], found["path"])})


def _text(store: Store, lore: Lore) -> str:
    """Return an entry as the text of a file."""
    return codec.write_new(lore, store.categories).decode()


def _lore(store: Store, text: str, path: str) -> Lore:
    lore = codec.read(text.encode(), path, store.categories, store.clock.now()).lore
    return judgements.with_tally(store, lore)


# Idempotency keys: a call with a key is carried out once; the same call again gets the same answer.
#
# The key is stored durably before anything is done, with the id of the entry that the call will make. So an interrupted
# call can be repeated, too: what it wrote is found by that id.

_MAX_KEY_LENGTH = 200


class Once(NamedTuple):
    """The answer as JSON values, and whether an earlier call gave it."""

    answer: Any
    repeated: bool


class Attempt(NamedTuple):
    """The id of the entry that the call makes, and whether an earlier attempt may have made it."""

    id: str
    again: bool


def run_once(store: Store, key: str, request: object, do: Callable[[Attempt], object]) -> Once:
    """Return the result of `do` (JSON values), or its result for an earlier call with this key and `request`.

    Raises ValidationError for an invalid key, ConflictError if the key was used for another request, StoreError if keys
    cannot be stored, and whatever `do` raises; then the key may be used again.
    """
    _check_key(key)
    digest = _digest(request)
    with store.lock, FileLock(os.path.join(store.places.state, "keys.lock")):
        table = key_table(store)
        now = store.clock.now().timestamp()
        stored = table.find(key, now)
        if stored is not None and stored.request != digest:
            raise ConflictError(
                "This key was used for another request.", "Send each new request with a key of its own."
            )
        if stored is not None and stored.answer is not None:
            return Once(json.loads(stored.answer), repeated=True)
        attempt = Attempt(stored.id if stored else store.clock.new_id(), stored is not None)
        if stored is None:
            table.begin(key, digest, attempt.id, now)
        answer = _attempt(table, key, attempt, do)
        with contextlib.suppress(StoreError):  # it is done: a repeated call finds it by its id
            table.finish(key, json.dumps(answer, ensure_ascii=False))
        return Once(answer, repeated=False)


def _attempt(table: KeyTable, key: str, attempt: Attempt, do: Callable[[Attempt], object]) -> object:
    try:
        return do(attempt)
    except StoreError:
        raise  # something may have been written: the next attempt needs its id
    except EngramError:
        if not attempt.again:
            with contextlib.suppress(StoreError):
                table.forget(key)
        raise


def _check_key(key: str) -> None:
    """Raise ValidationError for an invalid key."""
    if not (0 < len(key) <= _MAX_KEY_LENGTH and key.isascii() and key.isprintable()):
        raise ValidationError(
            "key",
            f"A key has 1 to {_MAX_KEY_LENGTH} printable ASCII characters.",
            "A UUID made for each new request will do.",
        )


def key_table(store: Store) -> KeyTable:
    """Return the table of this clone's calls with a key."""
    path = os.path.join(store.places.state, KEYS)
    if path not in store.durable:
        store.durable[path] = DurableDatabase(path, SCHEMA, store.degraded.append)
    return KeyTable(store.durable[path])


def _digest(request: object) -> str:
    from hashlib import blake2b

    text = json.dumps(request, ensure_ascii=False, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
