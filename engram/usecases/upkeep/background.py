"""What can wait until the caller has its answer: commits, the index, a look at every file.

A command starts one detached process for it; a long-lived program uses a thread (committer).
"""

from __future__ import annotations

import contextlib
import os

from engram.domain.errors import EngramError
from engram.domain.scopes import SESSION
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.opening.scopes import exists, reach
from engram.usecases.opening.session_store import sweep, sweep_due
from engram.usecases.store.detached import OBSERVATIONS, start_detached

if TYPE_CHECKING:
    from engram.usecases.store.store import Store

_SWEEP_AGE_NS = 10_000_000_000
INLINE_VARIABLE = "ENGRAM_BACKGROUND"


def tidy(store: Store, *, sync: bool = False) -> None:
    """Bring index, git and the table of the history up to date; trouble is left for `status` to show.

    Then sync where that is due, with `sync` in any case; and once a day after a sync, the periodic work.
    """
    from engram.usecases.agents.observations import enrich
    from engram.usecases.history.history_feed import update_in_background
    from engram.usecases.store.commit import commit_quietly
    from engram.usecases.sync.auto_sync import sync_if_due, sync_now
    from engram.usecases.upkeep.maintain import maintain_if_due

    _refresh_quietly(store)
    with contextlib.suppress(EngramError):
        enrich(store)
    commit_quietly(store)
    update_in_background(store)
    _maintain(store)
    if exists(store, SESSION):
        _refresh_quietly(reach(store, SESSION))
    sweep(store)
    sync_now(store) if sync else sync_if_due(store)
    if maintain_if_due(store) is not None:
        commit_quietly(store)
    _make_vectors(store)


def _make_vectors(store: Store) -> None:
    """Last, because it may take minutes: nothing else waits for it."""
    from engram.usecases.index.vectors import make_vectors, unfinished

    with contextlib.suppress(EngramError):
        if unfinished(store):
            make_vectors(store)


def vectors_wait(store: Store) -> bool:
    """Whether this store's vectors are not all there, and somebody should make them."""
    generation = store.index.generation if store.is_indexed else None
    if generation is None or not (generation.waiting or generation.other_model):
        return False
    from engram.usecases.index.vectors import unfinished

    return unfinished(store)


def _refresh_quietly(store: Store) -> None:
    """An index that cannot be written now must not keep changes from being committed."""
    from engram.usecases.index.refresh import refresh

    with contextlib.suppress(EngramError):
        refresh(store)


def after_command(store: Store, *, wrote: bool) -> None:
    """At the end of a command: do, or start a detached process that does, what is left to do.

    Raises GitError where it is done here and git refuses.
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
        sweep(store)
        if sync_due:
            start_detached(store.places.root)
    elif not _somebody_commits(store):
        for_session = sweeping or store.places.scope == SESSION
        if store.places.scope != SESSION:
            start_detached(store.places.root)
        if for_session:
            start_detached(store.stand.root, store.caller.session)


def after_close(store: Store) -> None:
    """When a program closes a store: start a detached process for observations that wait, if any do."""
    if os.environ.get(INLINE_VARIABLE) != "inline" and _observations_wait(store):
        start_detached(store.places.root)


def _observations_wait(store: Store) -> bool:
    """Whether observations wait to become lore."""
    if not os.path.isdir(os.path.join(store.places.state, OBSERVATIONS)):
        return False
    from engram.usecases.agents.observations import work_waits

    with contextlib.suppress(EngramError):
        return work_waits(store)
    return False


def _sync_due(store: Store) -> bool:
    """Whether the setting `sync.interval` wants a sync now."""
    if not store.settings.get("sync.interval"):
        return False
    from engram.usecases.sync.auto_sync import is_due

    return is_due(store)


def _commits_wait(store: Store) -> bool:
    """Whether anything waits to be committed."""
    if not store.places.owns_branch:
        return False
    from engram.usecases.store.commit import has_work

    return has_work(store)


def _somebody_commits(store: Store) -> bool:
    """Whether a committer is at work; it looks at the journal once more after it lets go of the lock."""
    from engram.usecases.store.commit import commit_lock

    lock = commit_lock(store)
    try:
        taken = lock.try_acquire()
    except OSError:
        return False
    lock.release()
    return not taken


def _sweep_wanted(store: Store) -> bool:
    """Whether no process has looked at every file for a while, in a store too large to do it before answering."""
    from engram.usecases.index.freshness import COLD_SWEEP_LIMIT, sweep_interval_ns

    generation = store.index.generation
    if generation is None or generation.next_row - generation.dead <= COLD_SWEEP_LIMIT:
        return False
    return store.clock.nanoseconds() - generation.swept_ns > max(_SWEEP_AGE_NS, sweep_interval_ns(generation))


def _maintain(store: Store) -> None:
    repository = store.places.repository
    if repository is None or not store.files.journaled:
        return
    from engram.adapters.git.write.maintain import loose_objects, maintain

    if loose_objects(repository) > 5000:
        maintain(repository)
