"""Put an entry under an id that the caller chose: record it if there is none, else edit it."""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.lock import FileLock
from engram.domain.entry.lore import ACTIVE
from engram.domain.errors import StaleError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.lookup.listing import Shown
from engram.usecases.lookup.resolve import Found, hits_by_id
from engram.usecases.recording.edit import Edit, edit_resolved
from engram.usecases.recording.record import Draft, check_id, prepare, record
from engram.usecases.store import activity_log

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


class UpsertResult(NamedTuple):
    """The entry as it is now, and whether it is new; `pending` says why it waits for review, if it does."""

    shown: Shown
    created: bool
    pending: str = ""


def upsert(store: Store, lore_id: str, draft: Draft, *, digest: str = "", new: bool = False) -> UpsertResult:
    """Create or replace the entry `lore_id` (a ULID) of this store with the draft.

    Fields that the draft omits get their defaults; confidence and status ("") stay unless given, and votes, history and
    author always stay. With a `digest`, replace only if its file still has that (ANY: if there is one); with `new`, only
    create.

    Raises ValidationError, SecretFoundError, StaleError, StoreError; then nothing was written.
    """
    lore_id = check_id(store, lore_id)
    with store.lock, FileLock(os.path.join(store.places.state, "put.lock")):
        hits = hits_by_id(store, lore_id)
        if not hits:
            if digest:
                raise StaleError(f"There is no entry {lore_id}.", "Omit the digest to create it.")
            done = record(store, draft._replace(status=draft.status or ACTIVE), lore_id, again=True)
            current = atomic.digest(store.files.read(done.path))
            return UpsertResult(Shown(done.lore, done.path, "", store.places.scope, current), True, done.why)
        found = Found(lore_id, hits[0].path, "", store)
        if new:
            raise StaleError(
                f"There is an entry {lore_id} already.",
                "Send its current digest to change it.",
                current=atomic.digest(store.files.read(found.path)),
            )
        wanted = _replacement(store, draft, lore_id)
        shown = edit_resolved(found, wanted, digest, f"edit: replaced by a put ({lore_id})", draft.agent)
        activity_log.note(store, "edit", query="put", ids=[lore_id])
        return UpsertResult(shown, created=False, pending=shown.pending)


def _replacement(store: Store, draft: Draft, lore_id: str) -> Edit:
    """Return the edit that sets every field that a caller may set to that of the draft."""
    lore, _ = prepare(store, draft._replace(status=draft.status or ACTIVE), lore_id)
    unset = [name for name in ("importance", "expires_at") if getattr(lore, name) is None]
    return Edit(
        content=lore.content, category=lore.category, context=lore.context, confidence=draft.confidence,
        status=draft.status or None, files=lore.files, pinned=lore.pinned, tags=lore.tags, entities=lore.entities,
        relations=tuple((link.kind, link.id) for link in lore.relations), type=lore.type, importance=lore.importance,
        expires_at=lore.expires_at, when=lore.when, unset=tuple(unset),
    )  # fmt: skip
