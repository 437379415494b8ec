"""The Python API: `import engram; store = engram.open()`. Every front end goes through the same use cases.

with engram.open("~/notes") as store:
    store.record("Queue consumers must be idempotent.", category="PATTERN_OUTCOME")
    answer = store.query("implementing message consumers")
    print(answer.strength, [hit.lore.title for hit in answer.lore])
    store.feedback(helpful=["L1"])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from engram.api.agents import Teaming
from engram.api.api_base import Words, words
from engram.api.curation import Curating
from engram.api.explore import Exploring
from engram.api.graph import Graphing
from engram.api.lookup import Looking
from engram.api.proposals import Proposing
from engram.api.sync import Sharing
from engram.api.trust import Trusting
from engram.api.tuning import Evolving
from engram.api.upsert import Putting
from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.recall import query as recall
from engram.usecases.recording import record as recording
from engram.usecases.recording.feedback import Judged, feedback
from engram.usecases.store.store import Caller, Store

if TYPE_CHECKING:
    import builtins
    from datetime import datetime
    from types import TracebackType
    from typing import Self

    from engram.usecases.exchange.import_lore import Imported
    from engram.usecases.index.file_scan import Refreshed
    from engram.usecases.index.vectors import Filled
    from engram.usecases.lookup.listing import Listing, Shown
    from engram.usecases.recall.query import Answer
    from engram.usecases.recording.edit import Edit
    from engram.usecases.recording.ingest import Ingested
    from engram.usecases.recording.record import Recorded
    from engram.usecases.upkeep.committer import Committer


_VECTORS_CHECK_NS = 60_000_000_000  # between checks whether vectors are missing


class Engram(
    Curating, Evolving, Exploring, Graphing, Looking, Proposing, Putting, Sharing, Teaming, Trusting
):
    """An open store. Close it (or use `with`) to commit what waits.

    It is thread-safe, and several processes may have the same store open.
    """

    def __init__(self, store: Store, *, background: bool = True) -> None:
        """Wrap a store; use `engram.open` instead. `background` commits in a thread; otherwise the caller has to."""
        self.store = store
        self._background = background
        self._vectors_checked_ns = 0
        self._committers: dict[str, Committer] = {}
        if background and store.files.journaled:
            self._committer_of(store)  # also syncs by interval, even if nothing is written

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
        when: Words = (),
        supersedes: Words = (),
        same_as: str = "",
        scope: str = "",
        key: str = "",
    ) -> Recorded:
        """Record an entry, and return it with near duplicates. It is durable when this returns.

        A known text makes no second entry: it confirms the existing one, and `.status` is "known". `supersedes` names
        entries that it replaces, `same_as` the one that says it in other words, `scope` the store (default: this one).

        `content` is 1 to 4000 characters of markdown, `category` one of the store's (default: guessed from the text),
        `confidence` 0..1 (default 0.70), `relations` pairs of (kind, id), `expires_at` an aware time after which it is
        not recalled, `when` moments at which hooks show it, such as "command: git push". With a `key`, repeating the
        call does nothing (see `Putting`).
        Raises ValidationError, SecretFoundError (unless `redact`), StoreError; then nothing was written.
        """
        draft = recording.Draft(
            content, category, words(context), confidence, words(tags), words(files), words(entities),
            tuple((kind, other) for kind, other in relations), type, status, agent, importance, pinned, expires_at, redact,
            when=words(when), supersedes=words(supersedes), same_as=same_as, scope=scope,
        )  # fmt: skip
        if key:
            from engram.usecases.recording.idempotent_writes import record_once

            return self._written(record_once(self.store, draft, key))
        return self._written(recording.record(self.store, draft))

    def record_all(self, drafts: Sequence[recording.Draft]) -> builtins.list[Ingested]:
        """Record drafts independently: `.outcome` of each is accepted, merged (the text is known) or rejected (`.error`)."""
        from engram.usecases.recording.ingest import ingest

        return self._written(ingest(self.store, drafts))

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
        scopes: Words = (),
        budget: int | None = None,
        hop: bool | None = None,
    ) -> Answer:
        """Recall the lore that answers `text`, best first: `.lore`, `.session_refs`, `.strength` (strong, weak, none).

        At most `k` entries (default 5) with at least `min_confidence` (default 0.5), one of the categories and types,
        and all of the tags. Entries about `files` rank higher. `keep=False` gives no session refs and is not logged.
        `as_of` queries the store as of a commit or date. `scopes` are those to query (default: all; for a store that
        was opened by path or scope, only that and its session). `budget` is about how many tokens of the answer the
        caller shows, for the activity log. `hop` adds entries one step away (`.via` an entity; default: the setting
        `graph.hop`). Raises ValidationError, UsageError, NotFoundError (no such commit).
        """
        question = recall.Question(
            text, k, min_confidence, words(categories), words(types), words(tags), words(files), strategy, keep, as_of,
            words(scopes), budget, hop,
        )  # fmt: skip
        answer = recall.query(self.store, question)
        self.start_vectors()
        return answer

    def feedback(
        self,
        *,
        helpful: Words = (),
        not_relevant: Words = (),
        incorrect: Words = (),
        again: bool = False,
        scope: str = "",
    ) -> list[Judged]:
        """Judge entries by session ref, id, start of an id, or words; with a `scope`, only entries of that store.

        helpful +0.08, incorrect −0.15, not_relevant 0; each kind counts once per session unless `again`.
        Raises NotFoundError, AmbiguousError, UsageError.
        """
        judged = feedback(
            self.store, helpful=words(helpful), not_relevant=words(not_relevant), incorrect=words(incorrect),
            scope=scope, again=again,
        )  # fmt: skip
        return self._written(judged)

    def get(self, name: str) -> Shown:
        """Return the entry with a ref, id, start of an id, or some words. Raises NotFoundError, AmbiguousError."""
        from engram.usecases.lookup.listing import get

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
        """List entries by filter and order, by default the newest first; `limit=None` lists all."""
        from engram.usecases.lookup.listing import list_lore

        return list_lore(
            self.store, limit=limit, categories=words(categories), status=status, tags=words(tags), sort=sort
        )

    def edit(self, name: str, wanted: Edit, *, digest: str = "") -> Shown:
        """Change fields of an entry. Raises NotFoundError, ValidationError, SecretFoundError, StaleError (see `Putting`)."""
        from engram.usecases.recording.edit import edit

        return self._written(edit(self.store, name, wanted, digest))

    def edited(self) -> None:
        """Schedule the commit of what a use case without a method here has written."""
        self._schedule_commit()

    def forget(self, *names: str, digest: str = "", key: str = "") -> builtins.list[Shown]:
        """Delete entries; git's history keeps them. Raises NotFoundError, AmbiguousError, StaleError (see `Putting`)."""
        from engram.usecases.recording.forget import forget
        from engram.usecases.recording.idempotent_writes import forget_once

        return self._written(
            forget_once(self.store, names, key, digest=digest) if key else forget(self.store, names, digest)
        )

    def import_markdown(
        self,
        folder: str,
        *,
        category: str = "",
        tags: Words = (),
        redact: bool = False,
        dry_run: bool = False,
        kind: str = "",
    ) -> Imported:
        """Import markdown, JSON or the files of another memory tool (`kind`, default: detected). Idempotent.

        With `dry_run`, `.seen` lists what would be imported, and nothing is written. Raises NotFoundError, UsageError.
        """
        from engram.usecases.exchange.import_lore import Options, import_lore

        options = Options(category, words(tags), redact=redact, dry_run=dry_run, kind=kind)
        return self._written(import_lore(self.store, os.path.expanduser(folder), options))

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> Refreshed:
        """Bring the index up to date with all files.

        If it is rebuilt, `progress` gets (files done, all files); an exception from it stops the work.
        """
        from engram.usecases.index.refresh import refresh

        return refresh(self.store, progress=progress)

    def make_vectors(self, progress: Callable[[int, int], None] | None = None) -> Filled:
        """Compute missing vectors, if the embedding provider is a slow one, and wait for it.

        Otherwise that happens in the background. Queries can be made meanwhile. `progress` gets (entries done, all
        entries). The result has the numbers of computed and missing vectors, and what went wrong.
        """
        from engram.usecases.index.vectors import make_vectors

        return make_vectors(self.store, progress)

    def tags(self, prefix: str = "", limit: int = 100) -> builtins.list[str]:
        """Return the tags that begin with `prefix`, the most used first."""
        from engram.usecases.index.vocabulary import tags

        return tags(self.store, prefix, limit)

    def status(self, *, thorough: bool = True) -> dict[str, object]:
        """Return the state of store, index, git and embedding, as the JSON of `engram status`.

        `thorough` checks every file first; otherwise only as much as a query does.
        """
        from engram.usecases.upkeep.status import status

        return status(self.store, thorough=thorough)

    def session_refs(self) -> dict[str, str]:
        """Return the refs of this session (`L1`, …) with the id of each."""
        return {ref.name: ref.id for ref in self.store.session_state.refs(self.store.caller.session)}

    def close(self) -> None:
        """Commit what waits and close every file."""
        self._stop_committers()
        if self._background:
            from engram.usecases.opening.session_store import sweep
            from engram.usecases.store.commit import commit_quietly
            from engram.usecases.upkeep.background import after_close, start_sync

            commit_quietly(self.store)
            sweep(self.store)
            for store in (self.store, *self.store.others.values()):
                start_sync(store, changed=True)
            after_close(self.store)
        self.store.close()

    def leave(self, patience: float = 1.0) -> None:
        """Close within about `patience` seconds; a separate process commits the rest."""
        from engram.usecases.upkeep.background import after_command, start_sync

        self._stop_committers(patience)
        for store in (self.store, *self.store.others.values()):
            start_sync(store, changed=True)
        after_command(self.store, wrote=False)
        self.store.close()

    @contextmanager
    def calling(self, session: str, agent: str, via: str = "python", client: str = "") -> Iterator[None]:
        """Make calls as another session and agent through the front end `via`; other threads wait meanwhile.

        `client` is the source that a client of a server names, to which its judgements are attributed.
        """
        with self.store.lock, self.store.calling(Caller(session, agent, via, client)):
            yield

    def start_vectors(self) -> None:
        """Start a process that computes missing vectors of the stores, checked at most once a minute."""
        from engram.usecases.store.detached_process import start_detached
        from engram.usecases.upkeep.background import needs_vectors

        now = self.store.clock.nanoseconds()
        if not self._background or now - self._vectors_checked_ns < _VECTORS_CHECK_NS:
            return
        self._vectors_checked_ns = now
        for store in (self.store, *self.store.others.values()):
            if needs_vectors(store):
                start_detached(store.places.root)

    def _stop_committers(self, patience: float = 60.0) -> None:
        for committer in self._committers.values():
            committer.stop(patience)
        self._committers.clear()

    def _schedule_commit(self) -> None:
        """Schedule a commit in each store with git that was written to."""
        if not self._background:
            return
        for store in (self.store, *self.store.others.values()):
            if store.places.repository is not None and (store is self.store or store.own_writes):
                self._committer_of(store).changed()

    def _committer_of(self, store: Store) -> Committer:
        from engram.usecases.upkeep.committer import Committer

        scope = store.places.scope
        if scope not in self._committers:
            self._committers[scope] = Committer(store)
        return self._committers[scope]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


__all__ = ["Engram", "Lore"]
