"""The Python API: `import engram; store = engram.open()`. Every front end goes through the same use cases.

with engram.open("~/notes") as store:
    store.record("Queue consumers must be idempotent.", category="PATTERN_OUTCOME")
    answer = store.query("implementing message consumers")
    print(answer.strength, [hit.lore.title for hit in answer.lore])
    store.feedback(helpful=["L1"])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from engram.adapters.agents.session import agent_name, session_name
from engram.domain.lore import ACTIVE, Lore
from engram.domain.typed import TYPE_CHECKING
from engram.usecases import query as recall
from engram.usecases import record as recording
from engram.usecases.feedback import Judged, feedback
from engram.usecases.open_store import USER, open_store
from engram.usecases.store import Caller, Store

if TYPE_CHECKING:
    import builtins
    from datetime import datetime
    from types import TracebackType
    from typing import Self

    from engram.usecases.changes import Refreshed
    from engram.usecases.clock import Clock
    from engram.usecases.committer import Committer
    from engram.usecases.edit import Edit
    from engram.usecases.import_lore import Imported
    from engram.usecases.listing import Listing, Shown
    from engram.usecases.query import Answer
    from engram.usecases.record import Recorded
    from engram.usecases.restore import Restored
    from engram.usecases.sync import Synced
    from engram.usecases.undo import Undone

Words = str | Sequence[str]


class Engram:
    """An open store. Close it (or use `with`): what waits for git is committed then.

    Safe to use from several threads; several processes may have the same store open.
    """

    def __init__(self, store: Store, *, background: bool = True) -> None:
        """Made by `engram.open`. `background` commits in a thread; otherwise somebody else sees to it."""
        self.store = store
        self._committer: Committer | None = None
        if background and store.files.journaled:
            from engram.usecases.committer import Committer

            self._committer = Committer(store)

    @property
    def path(self) -> str:
        """The root folder of the store."""
        return self.store.places.root

    def record(
        self,
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
        status: str = ACTIVE,
        agent: str = "",
        importance: float | None = None,
        pinned: bool = False,
        expires_at: datetime | None = None,
        redact: bool = False,
    ) -> Recorded:
        """Write a new lore and return it with its near twins; it is durable when this returns.

        `content` is 1 to 4000 characters of markdown, `category` one of the store's, `confidence` 0..1
        (default 0.70), `relations` pairs of (kind, id), `expires_at` an aware time after which
        it is not recalled. Raises ValidationError, SecretFoundError (unless
        `redact`), StoreError; then nothing was written.
        """
        draft = recording.Draft(
            content, category, _words(context), confidence, _words(tags), _words(files), _words(entities),
            tuple((kind, other) for kind, other in relations), type, status, agent, importance, pinned, expires_at, redact,
        )  # fmt: skip
        recorded = recording.record(self.store, draft)
        self._changed()
        return recorded

    def query(
        self,
        text: str,
        k: int | None = None,
        min_confidence: float | None = None,
        categories: Words = (),
        *,
        types: Words = (),
        tags: Words = (),
        files: Words = (),
        strategy: str = recall.HYBRID,
        keep: bool = True,
        as_of: str = "",
    ) -> Answer:
        """The lore that answer `text`, best first: `.lore`, `.session_refs`, `.strength` (strong, weak, none).

        `k` results (default 5) of at least `min_confidence` (default 0.5), of these categories, types
        and all of these tags. `files` the caller works on lift lore about them. `keep=False` gives no
        session refs and stays out of the retrieval log. `as_of` asks the store as it was at a commit or
        date. Raises ValidationError, UsageError, NotFoundError (no such commit).
        """
        question = recall.Question(
            text, k, min_confidence, _words(categories), _words(types), _words(tags), _words(files), strategy, keep, as_of
        )  # fmt: skip
        return recall.query(self.store, question)

    def feedback(
        self, *, helpful: Words = (), not_relevant: Words = (), incorrect: Words = (), again: bool = False
    ) -> list[Judged]:
        """Judge lore by session ref, id, id prefix or words of it.

        helpful +0.08, incorrect −0.15, not_relevant 0; once a session and kind unless `again`.
        Raises NotFoundError, AmbiguousError, UsageError.
        """
        judged = feedback(
            self.store,
            helpful=_words(helpful),
            not_relevant=_words(not_relevant),
            incorrect=_words(incorrect),
            again=again,
        )
        self._changed()
        return judged

    def get(self, name: str) -> Shown:
        """The lore of a ref, id, id prefix or some words. Raises NotFoundError, AmbiguousError."""
        from engram.usecases.listing import get

        return get(self.store, name)

    def list(
        self,
        *,
        limit: int | None = 20,
        categories: Words = (),
        status: str = "",
        tags: Words = (),
        sort: str = "created",
    ) -> Listing:
        """Lore by filter and order, newest first unless `sort` says otherwise; `limit=None` lists all."""
        from engram.usecases.listing import list_lore

        return list_lore(
            self.store,
            limit=limit,
            categories=_words(categories),
            status=status,
            tags=_words(tags),
            sort=sort,
        )

    def edit(self, name: str, wanted: Edit) -> Shown:
        """Change fields of a lore. Raises NotFoundError, ValidationError, SecretFoundError."""
        from engram.usecases.edit import edit

        shown = edit(self.store, name, wanted)
        self._changed()
        return shown

    def forget(self, *names: str) -> builtins.list[Shown]:
        """Delete lore; where there is git, history keeps them. Raises NotFoundError, AmbiguousError."""
        from engram.usecases.forget import forget

        gone = forget(self.store, names)
        self._changed()
        return gone

    def import_markdown(
        self,
        folder: str,
        *,
        category: str = "",
        tags: Words = (),
        redact: bool = False,
        dry_run: bool = False,
    ) -> Imported:
        """Import a folder (or file) of markdown, or a JSON or JSON Lines file; doing it twice changes nothing."""
        from engram.usecases.import_lore import Options, import_lore

        options = Options(category, _words(tags), redact=redact, dry_run=dry_run)
        done = import_lore(self.store, os.path.expanduser(folder), options)
        self._changed()
        return done

    def sync(
        self, remote: str = "", *, pull: bool = True, push: bool = True, timeout: float = 120.0
    ) -> Synced:
        """Commit what waits, fetch, merge by field, push; `timeout` in seconds for each command that uses the network.

        Raises UsageError (no repository of its own), RemoteError, SyncBlockedError; what goes wrong after
        something was done is in the answer's `.errors`.
        """
        from engram.usecases.sync import Options, sync

        return sync(self.store, Options(remote, pull, push, timeout))

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> Refreshed:
        """Bring the index up to date with every file, at once.

        `progress` is told (files done, files in all) along the way where all are read anew; what it raises ends the work.
        """
        from engram.usecases.refresh import refresh

        return refresh(self.store, progress=progress)

    def tags(self, prefix: str = "", limit: int = 100) -> builtins.list[str]:
        """The store's tags that begin with `prefix`, the most used first."""
        from engram.usecases.vocabulary import tags

        return tags(self.store, prefix, limit)

    def status(self, *, thorough: bool = True) -> dict[str, object]:
        """The state of store, index, git and embedding, as the JSON of `engram status`.

        `thorough` looks at every file before; otherwise as far as a query does.
        """
        from engram.usecases.status import status

        return status(self.store, thorough=thorough)

    def session_refs(self) -> dict[str, str]:
        """`L1` → id of all lore surfaced in this session."""
        return {ref.name: ref.id for ref in self.store.state.refs(self.store.caller.session)}

    def close(self) -> None:
        """Commit what waits and close every file."""
        if self._committer is not None:
            self._committer.stop()
        self.store.close()

    def leave(self, patience: float = 1.0) -> None:
        """Close within about `patience` seconds: what is not in git by then is left to a process of its own."""
        from engram.usecases.background import after_command

        if self._committer is not None:
            self._committer.stop(patience)
        after_command(self.store, wrote=False)
        self.store.close()

    @contextmanager
    def calling(self, session: str, agent: str) -> Iterator[None]:
        """Within this, calls are those of another session and agent; those of other threads wait."""
        with self.store.lock:
            before, self.store.caller = self.store.caller, Caller(session, agent)
            try:
                yield
            finally:
                self.store.caller = before

    def undo(self, count: int = 1) -> Undone:
        """Take back this clone's last `count` operations by a new commit; what others changed since stays.

        Raises NotFoundError (there are not so many), UsageError, StoreError (Engram does not commit here), GitError.
        """
        from engram.usecases.undo import undo

        done = undo(self.store, count)
        self._changed()
        return done

    def redo(self) -> Undone:
        """Bring back what the last undo took back. Raises NotFoundError, StoreError, GitError."""
        from engram.usecases.undo import redo

        done = redo(self.store)
        self._changed()
        return done

    def restore(self, name: str, at: str) -> Restored:
        """Bring a lore back as it was at a commit or date, also one that was forgotten; votes since then stay.

        Raises NotFoundError, AmbiguousError, SecretFoundError, LoreFileError, StoreError, GitError.
        """
        from engram.usecases.restore import restore

        done = restore(self.store, name, at)
        self._changed()
        return done

    def _changed(self) -> None:
        if self._committer is not None:
            self._committer.changed()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_engram(
    path: str | os.PathLike[str] | None = None,
    *,
    scope: str = "",
    session: str = "",
    agent: str = "",
    clock: Clock | None = None,
    environment: Mapping[str, str] | None = None,
    background: bool = True,
    working: str | None = None,
) -> Engram:
    """Open the store at or above `path`; without one, the enclosing store of the working folder, else the user's own.

    A `path` that is empty or does not exist becomes a new dedicated store. `session` and `agent`
    default to what the environment says, `working` to the current folder. Raises NotFoundError, StoreError, ConfigError.
    """
    variables = os.environ if environment is None else environment
    chosen = None if scope == USER else variables.get("ENGRAM_STORE") or None
    if path is not None:
        chosen = os.path.abspath(os.path.expanduser(os.fspath(path)))
        if _is_vacant(chosen):
            from engram.usecases.init import init

            init(chosen)
    caller = Caller(session or session_name(variables), agent or agent_name(variables))
    return Engram(
        open_store(chosen, caller, scope=scope, clock=clock, working=working), background=background
    )


def _is_vacant(path: str) -> bool:
    """Whether `path` is free for a new store: it does not exist, or is an empty folder outside any store."""
    from engram.adapters.files.places import enclosing_store

    return enclosing_store(path) is None and (
        not os.path.exists(path) or (os.path.isdir(path) and not os.listdir(path))
    )


def _words(value: Words) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


__all__ = ["Engram", "Lore", "open_engram"]
