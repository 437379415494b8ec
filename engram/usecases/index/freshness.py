"""How an open store knows that nothing changed without looking at every folder for every query.

A program that asks again and again is told of changes by the system (watch); what the system may not tell is
still looked for by folder times once a second. A command that asks once looks for itself.
"""

from __future__ import annotations

import contextlib

from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.index.generation import Generation
    from engram.usecases.store.store import Store

TRUSTED_NS = 1_000_000_000
SWEEP_ALWAYS = 400
NOT_NOTED = 2_000  # lore: to look at all again takes less than to write down that one has
SWEEP_NS_PER_FILE = 5_000
SWEEP_PATIENCE = 20
COLD_SWEEP_LIMIT = 4_000


def watch(store: Store, generation: Generation) -> None:
    """Have the system tell of changes from the second question on; nothing happens where it cannot."""
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


def unchanged(store: Store) -> bool:
    """Whether the system told of no change and everything was looked at less than a second ago."""
    since = store.clock.nanoseconds() - store.looked_ns
    return store.watch is not None and not heard(store) and 0 <= since < TRUSTED_NS


def heard(store: Store) -> bool:
    """Whether the system told of a change that the index does not have yet."""
    if store.watch is None:
        return False
    from engram.adapters.files.watch import WatchLostError

    try:
        return store.watch.listen()
    except WatchLostError:
        store.drop_watch()
        store.must_sweep = True
        generation = store.index.generation
        if generation is not None:  # anew before everything is looked at, so that nothing slips through
            _start(store, generation)
        return True


def told(store: Store) -> tuple[set[str], set[str], set[str]]:
    """What the system told of and the index does not have yet: `folders`, `files` and `touched` of a `FolderWatch`."""
    watch = store.watch
    return (set(), set(), set()) if watch is None else (watch.folders, watch.files, watch.touched)


def looked(store: Store) -> None:
    """Everything was looked at just now."""
    store.looked_ns = store.clock.nanoseconds()


@contextlib.contextmanager
def catching_up(store: Store, *, swept: bool, partly: bool) -> Iterator[None]:
    """While the index is brought up to date: what was told before is dealt with when this ends well.

    `partly`: only named files are looked at, which settles nothing. `swept`: every file is.
    """
    now = store.clock.nanoseconds()
    if swept:
        heard(store)  # what was done up to here is seen by the look at all files
    folders, files, touched = (set(names) for names in told(store))
    yield
    if partly:
        return
    store.looked_ns = now
    if swept:
        store.must_sweep = False
    if store.watch is not None:
        store.watch.settle(files, folders, touched)


def sweep_due(store: Store, generation: Generation) -> bool:
    """Whether to look at every file before answering: when there are few, or nobody has asked for a while.

    A process that asks again and again is not made to wait each time; a person who edited a file in between is
    answered from it. In a large store the look comes after the answer.
    """
    count = generation.next_row - generation.dead
    if count <= SWEEP_ALWAYS or store.must_sweep or moved_by_others(store, generation):
        return True
    idle_since = max(generation.swept_ns, store.asked_ns)
    return count <= COLD_SWEEP_LIMIT and store.clock.nanoseconds() - idle_since > sweep_age(generation)


def moved_by_others(store: Store, generation: Generation) -> bool:
    """Whether anybody but Engram has checked out or committed something since all files were looked at."""
    now, repository = head(store), store.places.repository
    if generation.head == now:
        return False
    from engram.adapters.git.write import branch_move_log

    return repository is None or not branch_move_log.lead(
        repository, store.places.state, generation.head, now
    )


def sweep_age(generation: Generation) -> int:
    """After so many ns a look at all files is due: twenty times as long as it takes."""
    return (generation.next_row - generation.dead) * SWEEP_NS_PER_FILE * SWEEP_PATIENCE


def rules(store: Store) -> str:
    """A digest of the settings that decide what a file says, "" for the defaults."""
    found = [store.settings.get("store.categories"), store.settings.get("secrets.allow")]
    if not any(found):
        return ""
    from engram.adapters.files.durable.atomic import digest

    return digest(repr(found).encode())


def head(store: Store) -> str:
    """The commit that is checked out, "" outside git."""
    repository = store.places.repository
    if repository is None:
        return ""
    from engram.adapters.git.run.layout import read_head

    try:
        return read_head(repository).oid or ""
    except GitError:
        return ""  # files can be found whatever is wrong with their history


def follow(store: Store, folder: str) -> None:
    """Have the system tell of changes in one more folder."""
    if store.watch is not None:
        try:
            store.watch.follow(folder)
        except OSError:
            _give_up(store)


def follows(store: Store, folder: str) -> bool:
    """Whether nothing needs to be done for changes in `folder` to be told."""
    return store.watch is None or store.watch.follows([folder])


def _give_up(store: Store) -> None:
    store.drop_watch()
    store.watchable = False
