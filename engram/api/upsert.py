"""The part of the Python API for programs that keep lore in sync with their own data: put, patch, delta."""

from __future__ import annotations

from engram.api.api_base import Part, Words, words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.usecases.history.change_feed import Delta
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recording.upsert import UpsertResult


class Putting(Part):
    """Conditional and idempotent writes, and the change feed; part of `engram.app.Engram`.

    With a `digest` (the `.digest` of an earlier result), an entry is changed only if its file still has it; otherwise
    StaleError has the current one. A `key` (a text that you make for each new request) makes a request idempotent: for
    24 hours, repeating it does nothing and returns the first result. Reusing the key for another request is a
    ConflictError.
    """

    def put(
        self,
        lore_id: str,
        content: str,
        *,
        category: str = "",
        context: Words = (),
        confidence: float | None = None,
        tags: Words = (),
        files: Words = (),
        entities: Words = (),
        relations: Sequence[tuple[str, str]] = (),
        type: str = "",  # noqa: A002
        status: str = "",
        agent: str = "",
        importance: float | None = None,
        pinned: bool = False,
        expires_at: datetime | None = None,
        redact: bool = False,
        when: Words = (),
        digest: str = "",
        new: bool = False,
        key: str = "",
    ) -> UpsertResult:
        """Create or replace the entry with this id (your own ULID): `.shown`, and `.created` if it is new.

        The arguments are those of `record`. Omitted ones get their defaults, but confidence, status, votes and history
        are kept. `digest` "*" requires that the entry exists, `new` that it does not.
        Raises ValidationError, SecretFoundError, StaleError, ConflictError, StoreError; then nothing was written.
        """
        from engram.usecases.recording.record import Draft

        draft = Draft(
            content, category, words(context), confidence, words(tags), words(files), words(entities),
            tuple((kind, other) for kind, other in relations), type, status, agent, importance, pinned, expires_at, redact,
            when=words(when),
        )  # fmt: skip
        if key:
            from engram.usecases.recording.idempotent_writes import put_once

            return self._written(put_once(self.store, lore_id, draft, key, digest=digest, new=new))
        from engram.usecases.recording.upsert import upsert

        return self._written(upsert(self.store, lore_id, draft, digest=digest, new=new))

    def patch(self, name: str, changes: Mapping[str, object], *, digest: str = "", key: str = "") -> Shown:
        """Change fields of an entry; None removes the value of a field, lists are replaced.

        Raises ValidationError, NotFoundError, AmbiguousError, SecretFoundError, StaleError, ConflictError, UsageError.
        """
        from engram.usecases.recording.patch import parse_patch, patch

        if key:
            from engram.usecases.recording.idempotent_writes import edit_once

            return self._written(edit_once(self.store, name, parse_patch(changes), key, digest=digest))
        return self._written(patch(self.store, name, changes, digest))

    def delta(self, since: datetime | str = "", limit: int | None = None) -> Delta:
        """Return changes since a cursor or a time: `.lore`, `.created_ids`, `.deleted_ids`, the next `.cursor`, `.more`.

        Without `since`, return all lore. Raises ValidationError, UsageError, CursorGoneError (start over), StoreError.
        """
        from engram.usecases.history.change_feed import delta

        return delta(self.store, since, limit)
