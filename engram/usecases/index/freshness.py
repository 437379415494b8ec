"""Detect that nothing changed, without checking every folder for every query.

A long-running process is notified of changes by the operating system (a watch); changes that it may miss are found by
folder times, checked once a second. A command that queries once checks for itself.
"""

from __future__ import annotations

import contextlib

from engram.domain.errors import GitError
from engram.domain.judgements.tally import day_of
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import judgements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

TRUSTED_NS = 1_000_000_000
SWEEP_ALWAYS = 400
UNRECORDED_SWEEP_LIMIT = 2_000  # entries: below it another sweep is cheaper than recording this one
SWEEP_NS_PER_FILE = 5_000
SWEEP_FACTOR = 20
COLD_SWEEP_LIMIT = 4_000


def start_watching(store: Store, generation: Generation) -> None:
    """Watch the folders from the second query on, if the system supports it."""
    if store.watch is None and store.watchable and store.asked_ns and generation.folders:
        _start(store, generation)


def _start(store: Store, generation: Generation) -> None:
    from engram.adapters.files.watch import FolderWatch

    try:
        store.watch = FolderWatch(store.places.root)
        for folder in generation.folders:
            store.watch.follow(folder)
    except (OSError, ImportError):
        _give_up(store)
    store.looked_ns = 0


def is_unchanged(store: Store) -> bool:
    """Whether no change was reported and everything was checked less than a second ago."""
    return is_watch_trusted(store) and not has_reported_changes(store)


def is_watch_trusted(store: Store) -> bool:
    """Whether changes are reported, and unreported ones were searched for less than a second ago."""
    return store.watch is not None and 0 <= store.clock.nanoseconds() - store.looked_ns < TRUSTED_NS


def has_reported_changes(store: Store) -> bool:
    """Whether the watch reported a change that the index does not have yet."""
    if store.watch is None:
        return False
    from engram.adapters.files.watch import WatchLostError

    try:
        return store.watch.listen()
    except WatchLostError:
        store.drop_watch()
        store.must_sweep = True
        generation = store.index.generation
        if generation is not None:  # watch again before the sweep, so that no change is missed
            _start(store, generation)
        return True


def reported_changes(store: Store) -> tuple[set[str], set[str], set[str]]:
    """Return the reported changes not yet in the index: `folders`, `files` and `touched` of a `FolderWatch`."""
    watch = store.watch
    return (set(), set(), set()) if watch is None else (watch.folders, watch.files, watch.touched)


def mark_checked(store: Store) -> None:
    """Record that everything has just been checked."""
    store.looked_ns = store.clock.nanoseconds()


@contextlib.contextmanager
def updating(store: Store, *, swept: bool, partly: bool) -> Iterator[None]:
    """Clear the changes reported before this update of the index once it succeeds.

    `partly`: only some files are checked, so nothing is cleared. `swept`: every file is checked.
    """
    now = store.clock.nanoseconds()
    if not swept and is_watch_trusted(store):
        now = store.looked_ns  # only reported changes are checked
    if swept:
        has_reported_changes(store)  # the sweep covers all changes up to here
    folders, files, touched = (set(names) for names in reported_changes(store))
    yield
    if partly:
        return
    store.looked_ns = now
    if swept:
        store.must_sweep = False
    if store.watch is not None:
        store.watch.settle(files, folders, touched)


def is_sweep_due(store: Store, generation: Generation) -> bool:
    """Whether to check every file before answering: in a small store, or after a while without queries.

    So a long-running process does not have to wait each time, but still finds a file that a person edited in between.
    In a large store, the sweep comes after the answer.
    """
    count = generation.next_row - generation.dead
    if count <= SWEEP_ALWAYS or store.must_sweep or head_moved_externally(store, generation):
        return True
    if is_watch_trusted(store):
        return False
    idle_since = max(generation.swept_ns, store.asked_ns)
    return count <= COLD_SWEEP_LIMIT and store.clock.nanoseconds() - idle_since > sweep_interval_ns(
        generation
    )


def head_moved_externally(store: Store, generation: Generation) -> bool:
    """Whether HEAD was moved by anything but Engram since the last sweep."""
    now, repository = head_commit(store), store.places.repository
    if generation.head == now:
        return False
    from engram.adapters.git.write import lore_branch

    return repository is None or not lore_branch.own_moves_lead(
        repository, store.places.state, generation.head, now
    )


def judgements_changed(store: Store, generation: Generation) -> bool:
    """Whether a ledger has lines that the index lacks, or a new day has begun, on which entries decay further."""
    return generation.day != day_of(store.clock.now()) or generation.judged != judgements.mark(store)


def sweep_interval_ns(generation: Generation) -> int:
    """Return the time in ns from a sweep to the next: twenty times its duration."""
    return (generation.next_row - generation.dead) * SWEEP_NS_PER_FILE * SWEEP_FACTOR


def settings_digest(store: Store) -> str:
    """Return a digest of the settings that affect how files are read; "" for the defaults."""
    found = [store.settings.get(key) for key in ("store.categories", "secrets.allow", "trust.mine")]
    rules = store.ignore_rules()
    found += [rules.stamp()] if rules is not None else []
    if not any(found):
        return ""
    from engram.adapters.files.durable.atomic import digest

    return digest(repr(found).encode())


def head_commit(store: Store) -> str:
    """Return the commit checked out; "" outside git."""
    repository = store.places.repository
    if repository is None:
        return ""
    from engram.adapters.git.run.layout import read_head

    try:
        return read_head(repository).oid or ""
    except GitError:
        return ""  # files are found even in a broken repository


def watch_folder(store: Store, folder: str) -> None:
    """Watch one more folder."""
    if store.watch is not None:
        try:
            store.watch.follow(folder)
        except OSError:
            _give_up(store)


def is_watched(store: Store, folder: str) -> bool:
    """Whether changes in `folder` are reported without reading it again."""
    return store.watch is None or store.watch.follows([folder])


def _give_up(store: Store) -> None:
    store.drop_watch()
    store.watchable = False
