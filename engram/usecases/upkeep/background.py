"""Work deferred until the caller has its answer: commits, index updates, checking every file.

A command starts a detached process for it; a long-lived program uses a thread (`committer`).
"""

from __future__ import annotations

import contextlib
import os

from engram.domain.errors import EngramError
from engram.domain.scopes import SESSION
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.opening.scopes import exists, open_scope_of, reachable_scopes
from engram.usecases.opening.session_store import sweep, sweep_due
from engram.usecases.store.detached_process import CONSENT, OBSERVATIONS, start_detached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.usecases.store.store import Store

_FILE_CHECK_NS = 10_000_000_000
INLINE_VARIABLE = "ENGRAM_BACKGROUND"


def tidy(store: Store, *, sync: bool = False) -> None:
    """Update the index, git and the history table; `status` reports errors.

    Then sync if due (with `sync` in any case, and also the stores of other scopes), and run the daily maintenance
    after a sync.
    """
    from engram.usecases.agents.observations import process_observations
    from engram.usecases.history.history_feed import update_in_background
    from engram.usecases.judgements.commit_own import commit_if_due
    from engram.usecases.store.commit import commit_quietly, has_work
    from engram.usecases.sync.auto_sync import mark_change, sync_if_due, sync_now
    from engram.usecases.upkeep.maintain import maintain_if_due

    _refresh_quietly(store)
    with contextlib.suppress(EngramError):
        process_observations(store)
    if has_work(store):
        mark_change(store)
    commit_quietly(store)
    commit_if_due(store)
    update_in_background(store)
    _pack_objects(store)
    if exists(store, SESSION):
        _refresh_quietly(open_scope_of(store, SESSION))
    sweep(store)
    if sync:
        for each in (store, *_other_scopes(store)):
            sync_now(each)
    else:
        sync_if_due(store)
    if maintain_if_due(store) is not None:
        commit_quietly(store)
    _make_vectors(store)
    _make_graph(store)


def commit_and_sync(store: Store, *, sync: bool = False) -> None:
    """Tidy and close a store in its own process, then sync its changes whenever writing has paused.

    Raises EngramError if the store is gone by then.
    """
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.sync.auto_sync import sync_waiting, wait_until_quiet

    tidy(store, sync=sync)
    store.close()
    while wait_until_quiet(store):
        reopened = open_store(store.places.root, store.caller)
        try:
            if sync_waiting(reopened) is None:
                return
            _refresh_quietly(reopened)
        finally:
            reopened.close()


def _other_scopes(store: Store) -> Iterator[Store]:
    """Yield the stores of other scopes on this machine, without those of sessions and without broken ones."""
    for name in reachable_scopes(store):
        if name not in (SESSION, store.places.scope):
            with contextlib.suppress(EngramError, OSError):
                if exists(store, name):
                    yield open_scope_of(store, name)


def start_sync(store: Store, *, changed: bool = False) -> bool:
    """Start a sync in its own process when a long-lived program opens or closes a store; return whether it started.

    With `changed` (when closing), only if there are changes that were not synced.
    """
    if os.environ.get(INLINE_VARIABLE) == "inline" or not _has_consent(store):
        return False
    from engram.usecases.sync.auto_sync import start_session_sync

    return (not changed or _has_unsynced_change(store)) and start_session_sync(store)


def note_change(store: Store) -> None:
    """Note that a command or program made a change to sync automatically, if that is allowed."""
    if _has_consent(store):
        from engram.usecases.sync.auto_sync import mark_change

        mark_change(store)


def _has_unsynced_change(store: Store) -> bool:
    """Whether a change waits to be synced automatically."""
    if not _has_consent(store):
        return False
    from engram.usecases.store.sync_state import last_change

    return last_change(store) > 0


def _has_consent(store: Store) -> bool:
    """Whether a person was asked about automatic syncs here; for most stores this check of a file is enough."""
    return os.path.exists(os.path.join(store.places.state, CONSENT))


def _make_vectors(store: Store) -> None:
    """Compute missing vectors: last, since it may take minutes."""
    from engram.usecases.index.vectors import can_make_vectors, make_vectors

    with contextlib.suppress(EngramError):
        if can_make_vectors(store):
            make_vectors(store)


def _make_graph(store: Store) -> None:
    """Make the graph of a large store, which may also take minutes."""
    if _is_graph_due(store):
        from engram.usecases.index.vector_graph import make_graph

        with contextlib.suppress(EngramError, OSError):
            make_graph(store)


def _is_graph_due(store: Store) -> bool:
    """Whether the store is large enough for a graph over its vectors, and no graph has most of them."""
    generation = store.index.generation if store.is_indexed else None
    if generation is None or generation.next_slot < store.settings.number("embedding.graph"):
        return False
    from engram.usecases.index.vector_graph import is_graph_due

    return is_graph_due(store)


def needs_vectors(store: Store) -> bool:
    """Whether vectors of this store, or a graph over them, are missing and can be computed."""
    generation = store.index.generation if store.is_indexed else None
    if generation is None or not (generation.waiting or generation.other_model):
        return _is_graph_due(store)
    from engram.usecases.index.vectors import can_make_vectors

    return can_make_vectors(store) or _is_graph_due(store)


def _refresh_quietly(store: Store) -> None:
    """Refresh the index; a failure must not prevent a commit."""
    from engram.usecases.index.refresh import refresh

    with contextlib.suppress(EngramError):
        refresh(store)


def after_command(store: Store, *, wrote: bool) -> None:
    """Do the deferred work at the end of a command, or start a detached process for it.

    Raises GitError if it is done here and git fails.
    """
    inline = os.environ.get(INLINE_VARIABLE) == "inline"
    sync_due, sweeping = not inline and _is_sync_due(store), sweep_due(store)
    others = [other for other in store.others.values() if needs_vectors(other)]
    if not inline:
        for other in others:
            start_detached(other.places.root)
    if not (
        wrote
        or sync_due
        or sweeping
        or _has_uncommitted(store)
        or _is_file_check_due(store)
        or needs_vectors(store)
        or _has_observations(store)
    ):
        return
    if inline or not store.settings.flag("git.background"):
        from engram.usecases.store.commit import commit_pending

        _refresh_quietly(store)
        commit_pending(store)
        _make_vectors(store)
        _make_graph(store)
        sweep(store)
        if sync_due or (not inline and _has_unsynced_change(store)):
            start_detached(store.places.root)
    elif not _is_committing(store):
        for_session = sweeping or store.places.scope == SESSION
        if store.places.scope != SESSION:
            start_detached(store.places.root)
        if for_session:
            start_detached(store.stand.root, store.caller.session)


def after_close(store: Store) -> None:
    """Start a detached process for pending observations when a program closes a store."""
    if os.environ.get(INLINE_VARIABLE) != "inline" and _has_observations(store):
        start_detached(store.places.root)


def _has_observations(store: Store) -> bool:
    """Whether observations wait to be recorded as entries."""
    if not os.path.isdir(os.path.join(store.places.state, OBSERVATIONS)):
        return False
    from engram.usecases.agents.observations import has_work

    with contextlib.suppress(EngramError):
        return has_work(store)
    return False


def _is_sync_due(store: Store) -> bool:
    """Whether a sync is due, by `sync.interval` or because of a change."""
    if not _has_consent(store):
        return False
    from engram.usecases.sync.auto_sync import is_due

    return is_due(store)


def _has_uncommitted(store: Store) -> bool:
    """Whether any change waits to be committed."""
    if not store.places.owns_branch:
        return False
    from engram.usecases.store.commit import has_work

    return has_work(store)


def _is_committing(store: Store) -> bool:
    """Whether a committer is running; it checks the journal once more after releasing the lock."""
    from engram.usecases.store.commit import commit_lock

    with contextlib.suppress(OSError), commit_lock(store).tried() as is_free:
        return not is_free
    return False


def _is_file_check_due(store: Store) -> bool:
    """Whether a full check of files is due in a store too large to do it before answering."""
    from engram.usecases.index.freshness import COLD_SWEEP_LIMIT, sweep_interval_ns

    generation = store.index.generation
    if generation is None or generation.next_row - generation.dead <= COLD_SWEEP_LIMIT:
        return False
    return store.clock.nanoseconds() - generation.swept_ns > max(
        _FILE_CHECK_NS, sweep_interval_ns(generation)
    )


def _pack_objects(store: Store) -> None:
    repository = store.places.repository
    if repository is None or not store.files.journaled:
        return
    from engram.adapters.git.write.maintain import loose_objects, maintain

    if loose_objects(repository) > 5000:
        maintain(repository)
