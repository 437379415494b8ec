"""Work deferred until the caller has its answer: commits, index updates, checking every file.

A command starts one detached process for it; a long-lived program uses a thread (committer).
"""

from __future__ import annotations

import contextlib
import os

from engram.domain.errors import EngramError
from engram.domain.scopes import SESSION
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.opening.scopes import exists, reach, reachable_scopes
from engram.usecases.opening.session_store import sweep, sweep_due
from engram.usecases.store.detached_process import CONSENT, OBSERVATIONS, start_detached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.usecases.store.store import Store

_SWEEP_AGE_NS = 10_000_000_000
INLINE_VARIABLE = "ENGRAM_BACKGROUND"


def tidy(store: Store, *, sync: bool = False) -> None:
    """Update the index, git and the history table; `status` reports errors.

    Then sync if due (with `sync` in any case, and the stores of other scopes, too), and run the daily maintenance
    after a sync.
    """
    from engram.usecases.agents.observations import enrich
    from engram.usecases.history.history_feed import update_in_background
    from engram.usecases.judgements.commit_own import commit_if_due
    from engram.usecases.store.commit import commit_quietly, has_work
    from engram.usecases.sync.auto_sync import mark_change, sync_if_due, sync_now
    from engram.usecases.upkeep.maintain import maintain_if_due

    _refresh_quietly(store)
    with contextlib.suppress(EngramError):
        enrich(store)
    if has_work(store):
        mark_change(store)
    commit_quietly(store)
    commit_if_due(store)
    update_in_background(store)
    _pack_objects(store)
    if exists(store, SESSION):
        _refresh_quietly(reach(store, SESSION))
    sweep(store)
    if sync:
        for one in (store, *_other_scopes(store)):
            sync_now(one)
    else:
        sync_if_due(store)
    if maintain_if_due(store) is not None:
        commit_quietly(store)
    _make_vectors(store)
    _make_graph(store)


def tidy_and_send(store: Store, *, sync: bool = False) -> None:
    """Tidy and close a store in a process of its own, and send what is written there once nothing more is for a while.

    Raises EngramError where the store is gone by then.
    """
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.sync.auto_sync import sync_waiting, wait_until_quiet

    tidy(store, sync=sync)
    store.close()
    while wait_until_quiet(store):
        again = open_store(store.places.root, store.caller)
        try:
            if sync_waiting(again) is None:
                return
            _refresh_quietly(again)
        finally:
            again.close()


def _other_scopes(store: Store) -> Iterator[Store]:
    """Yield the stores of other scopes that are on this machine, but those of sessions; one that is broken is left out."""
    for name in reachable_scopes(store):
        if name not in (SESSION, store.places.scope):
            with contextlib.suppress(EngramError, OSError):
                if exists(store, name):
                    yield reach(store, name)


def sync_apart(store: Store, *, changed: bool = False) -> bool:
    """Start a sync in a process of its own where a long-lived program opens a store; whether it did.

    Where it closes one: only if something was written that was not sent (`changed`).
    """
    if os.environ.get(INLINE_VARIABLE) == "inline" or not _has_consent(store):
        return False
    from engram.usecases.sync.auto_sync import session_sync

    return (not changed or _change_waits(store)) and session_sync(store)


def note_change(store: Store) -> None:
    """Note that a command or program wrote something that is to be sent by itself, where that is allowed."""
    if _has_consent(store):
        from engram.usecases.sync.auto_sync import mark_change

        mark_change(store)


def _change_waits(store: Store) -> bool:
    """Whether something was written that is to be sent by itself."""
    if not _has_consent(store):
        return False
    from engram.usecases.store.sync_state import last_change

    return last_change(store) > 0


def _has_consent(store: Store) -> bool:
    """Whether a person answered on automatic syncs here: most stores need no more than this look at a file."""
    return os.path.exists(os.path.join(store.places.state, CONSENT))


def _make_vectors(store: Store) -> None:
    """Compute missing vectors: last, since it may take minutes."""
    from engram.usecases.index.vectors import make_vectors, unfinished

    with contextlib.suppress(EngramError):
        if unfinished(store):
            make_vectors(store)


def _make_graph(store: Store) -> None:
    """Make the graph of a large store, which may take minutes, too."""
    if _graph_due(store):
        from engram.usecases.index.vector_graph import make_graph

        with contextlib.suppress(EngramError, OSError):
            make_graph(store)


def _graph_due(store: Store) -> bool:
    """Whether the store is so large that its vectors get a graph, and there is none of most of them."""
    generation = store.index.generation if store.is_indexed else None
    if generation is None or generation.next_slot < store.settings.number("embedding.graph"):
        return False
    from engram.usecases.index.vector_graph import graph_due

    return graph_due(store)


def vectors_wait(store: Store) -> bool:
    """Whether vectors of this store, or a graph over them, are missing and can be computed."""
    generation = store.index.generation if store.is_indexed else None
    if generation is None or not (generation.waiting or generation.other_model):
        return _graph_due(store)
    from engram.usecases.index.vectors import unfinished

    return unfinished(store) or _graph_due(store)


def _refresh_quietly(store: Store) -> None:
    """Refresh the index; a failure must not keep changes from being committed."""
    from engram.usecases.index.refresh import refresh

    with contextlib.suppress(EngramError):
        refresh(store)


def after_command(store: Store, *, wrote: bool) -> None:
    """Do the deferred work at the end of a command, or start a detached process for it.

    Raises GitError if it is done here and git fails.
    """
    inline = os.environ.get(INLINE_VARIABLE) == "inline"
    sync_due, sweeping = not inline and _sync_due(store), sweep_due(store)
    others = [one for one in store.others.values() if vectors_wait(one)]
    if not inline:
        for one in others:
            start_detached(one.places.root)
    if not (
        wrote
        or sync_due
        or sweeping
        or _commits_wait(store)
        or _sweep_wanted(store)
        or vectors_wait(store)
        or _observations_wait(store)
    ):
        return
    if inline or not store.settings.flag("git.background"):
        from engram.usecases.store.commit import commit_pending

        _refresh_quietly(store)
        commit_pending(store)
        _make_vectors(store)
        _make_graph(store)
        sweep(store)
        if sync_due or (not inline and _change_waits(store)):
            start_detached(store.places.root)
    elif not _is_committing(store):
        for_session = sweeping or store.places.scope == SESSION
        if store.places.scope != SESSION:
            start_detached(store.places.root)
        if for_session:
            start_detached(store.stand.root, store.caller.session)


def after_close(store: Store) -> None:
    """Start a detached process for pending observations when a program closes a store."""
    if os.environ.get(INLINE_VARIABLE) != "inline" and _observations_wait(store):
        start_detached(store.places.root)


def _observations_wait(store: Store) -> bool:
    """Whether observations wait to be recorded as entries."""
    if not os.path.isdir(os.path.join(store.places.state, OBSERVATIONS)):
        return False
    from engram.usecases.agents.observations import work_waits

    with contextlib.suppress(EngramError):
        return work_waits(store)
    return False


def _sync_due(store: Store) -> bool:
    """Whether a sync is due, by `sync.interval` or for what was written."""
    if not _has_consent(store):
        return False
    from engram.usecases.sync.auto_sync import is_due

    return is_due(store)


def _commits_wait(store: Store) -> bool:
    """Whether anything waits to be committed."""
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


def _sweep_wanted(store: Store) -> bool:
    """Whether a full check of files is due in a store too large to do it before answering."""
    from engram.usecases.index.freshness import COLD_SWEEP_LIMIT, sweep_interval_ns

    generation = store.index.generation
    if generation is None or generation.next_row - generation.dead <= COLD_SWEEP_LIMIT:
        return False
    return store.clock.nanoseconds() - generation.swept_ns > max(_SWEEP_AGE_NS, sweep_interval_ns(generation))


def _pack_objects(store: Store) -> None:
    repository = store.places.repository
    if repository is None or not store.files.journaled:
        return
    from engram.adapters.git.write.maintain import loose_objects, maintain

    if loose_objects(repository) > 5000:
        maintain(repository)
