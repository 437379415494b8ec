"""The part of the Python API for programs that keep lore in step with something of theirs: put, patch, what changed."""

from __future__ import annotations

from engram.api.api_base import Part, Words, words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.usecases.history.change_feed import Delta
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recording.upsert import Put


class Putting(Part):
    """Writing by id and digest, and asking what changed; `engram.app.Engram` has all of it.

    A `digest` (`.digest` of what `get` and all of these answer) has an entry changed only while its file is still that;
    else StaleError says the digest that it has now. A `key` (a text that you make for each new request) has a request
    done once: the same again is answered as the first time for 24 hours, and does nothing; with another request the
    key is a ConflictError.
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
    ) -> Put:
        """Write the entry with this id (a ULID of yours) as given: `.shown`, and `.created` where there was none.

        The arguments are those of `record`. What is left out gets its default; confidence, status, votes and history
        stay. `digest` "*" asks that there be one, `new` that there be none.
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
        from engram.usecases.recording.upsert import put

        return self._written(put(self.store, lore_id, draft, digest=digest, new=new))

    def patch(self, name: str, changes: Mapping[str, object], *, digest: str = "", key: str = "") -> Shown:
        """Change the fields of an entry that are named; None takes a field's value away, lists are replaced whole.

        Raises ValidationError, NotFoundError, AmbiguousError, SecretFoundError, StaleError, ConflictError, UsageError.
        """
        from engram.usecases.recording.patch import edit_of, patch

        if key:
            from engram.usecases.recording.idempotent_writes import edit_once

            return self._written(edit_once(self.store, name, edit_of(changes), key, digest=digest))
        return self._written(patch(self.store, name, changes, digest))

    def delta(self, since: datetime | str = "", limit: int | None = None) -> Delta:
        """What changed here since a cursor or a time: `.lore`, `.created_ids`, `.deleted_ids`, the next `.cursor`, `.more`.

        Without `since`: all lore. Raises ValidationError, UsageError, CursorGoneError (begin without one), StoreError.
        """
        from engram.usecases.history.change_feed import delta

        return delta(self.store, since, limit)
