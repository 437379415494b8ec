"""Syncing a store with its remote: commit what waits, fetch, merge by field, push; again if somebody was faster.

Git waits for the network, the disk and itself for most of that time. So what can be done before it is known what comes
in is done while it fetches, and a merge is pushed while it is brought in here: it is the same commit on every machine,
so whoever has it first is of no account.
"""

from __future__ import annotations

import contextlib
import time

from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.read.differences import differences
from engram.adapters.git.remote import remotes
from engram.adapters.git.run import failures, layout
from engram.adapters.git.write import lore_branch
from engram.adapters.git.write.commits import UNFINISHED
from engram.domain.errors import EngramError, GitError, RemoteError, SyncBlockedError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission.pulled_commits import weighed
from engram.usecases.merge import commit_merge, external_merges
from engram.usecases.similarity import deduplicate
from engram.usecases.store import activity_log, sync_state
from engram.usecases.store.accepted_settings import ACCEPT, in_force
from engram.usecases.store.commit import count_waiting
from engram.usecases.store.entry_writer import check_writable
from engram.usecases.store.store import IN_TREE
from engram.usecases.sync import local_changes, network, prefetch
from engram.usecases.sync.background_task import Beside

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from engram.adapters.git.remote.remotes import Counterpart
    from engram.adapters.git.run.layout import Head, Repository
    from engram.domain.sync import sync_plan
    from engram.usecases.merge.commit_merge import Merge
    from engram.usecases.store.store import Store

    Step = Callable[[str], None]

TRIES = 6  # the first push and five more

PAUSE_SECONDS = 0.2  # before the second push, at most; twice as long before each further one


class Options(NamedTuple):
    """What to do: with which remote ("" for the usual one), in which directions, `timeout` seconds a network command."""

    remote: str = ""
    pull: bool = True
    push: bool = True
    timeout: float = remotes.DEADLINE


class Synced(NamedTuple):
    """What a sync did, counted in files: brought in, sent, merged because both sides had changed them.

    `folded` counts lore that came in and became one with lore that said the same, `alike` has the pairs that only
    a person can tell apart, `conflicts` is what else is left for a person; `errors` is what went wrong after
    something had been done already. `held` counts lore that came in and wait for a person, `notes` say what came
    in and does not count here, and what became of files that are not committed.
    """

    remote: str = ""
    branch: str = ""
    pulled: int = 0
    pushed: int = 0
    merged: int = 0
    folded: int = 0
    alike: tuple[deduplicate.Alike, ...] = ()
    conflicts: int = 0
    errors: tuple[EngramError, ...] = ()
    duration_ms: int = 0
    head: str | None = None
    held: int = 0
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The answer as JSON."""
        errors, alike = [error.as_dict() for error in self.errors], [pair._asdict() for pair in self.alike]
        return {**self._asdict(), "alike": alike, "errors": errors}


class Planned(NamedTuple):
    """What a sync would do. `waiting` counts changes that are not committed yet; they go out too."""

    remote: str
    branch: str
    plan: sync_plan.Plan
    waiting: int
    head: str | None


def sync(store: Store, options: Options, step: Step | None = None) -> Synced:
    """Bring this clone and its remote together. `step` is told what is being done; what it raises ends the sync.

    It is told between two steps, and while the network is waited for: what was begun is whole when it ends so.
    Raises UsageError where the store has no git of its own, SyncBlockedError where a person is needed first,
    RemoteError and others as long as nothing was done yet; later trouble is in the answer's `errors`.
    """
    began = time.monotonic()
    repo = own_repository(store)
    run = _Run(store, repo, _allowed(store, options), step)
    trouble: EngramError | None = None
    try:
        run.go()
    except EngramError as error:
        trouble = _for_a_person(error)
    sync_state.remember(store, run.done.remote, trouble)
    _note(store, run.done, trouble, began)
    if trouble is not None and not (run.done.pulled or run.done.merged or run.done.pushed):
        raise trouble
    took = round((time.monotonic() - began) * 1000)
    errors = () if trouble is None else (trouble,)
    return run.done._replace(errors=errors, duration_ms=took, head=layout.read_head(repo).oid)


def _note(store: Store, done: Synced, trouble: EngramError | None, began: float) -> None:
    """A line of the live record."""
    counts = {
        "pulled": done.pulled,
        "pushed": done.pushed,
        "merged": done.merged,
        "conflicts": done.conflicts,
    }
    took_ms = round((time.monotonic() - began) * 1000, 3)
    activity_log.note(
        store,
        "sync",
        query=done.remote,
        took_ms=took_ms,
        details={**counts, "errors": int(trouble is not None)},
    )


def preview(store: Store, options: Options, step: Step | None = None) -> Planned:
    """What `sync` would do; only what is known of the remote is brought up to date. Raises as `sync`."""
    repo = own_repository(store)
    run = _Run(store, repo, options, step)
    try:
        head, theirs = run.ready(), run.fetched()
        plan = commit_merge.planned(store, head.oid, theirs)
    except EngramError as error:
        raise _for_a_person(error) from None
    local_changes.find_hand_edits(store)
    return Planned(run.done.remote, run.done.branch, plan, count_waiting(store), head.oid)


def _allowed(store: Store, options: Options) -> Options:
    """The options, without pushing for a read-only scope. Raises StoreError where only pushing was wanted."""
    if not store.scope.readonly:
        return options
    if not options.pull:
        check_writable(store)
    return options._replace(push=False)


class _Run:
    """One sync on its way; `done` is what it has done so far."""

    def __init__(self, store: Store, repo: Repository, options: Options, step: Step | None) -> None:
        self.done = Synced()
        self._store, self._repo, self._options, self._listener = store, repo, options, step
        self._other: Counterpart | None = None
        self._brought_in: list[str] = []  # and not indexed yet
        self._made: dict[str, Mapping[str, bytes]] = {}
        self._clean: set[str] = set()  # commits that were looked through for secrets
        self._sending: Beside | None = None

    def go(self) -> None:
        """All of it."""
        from engram.usecases.index.catch_up import no_collections

        prefetch.begin()
        try:
            with no_collections():
                self._go()
        finally:
            if self._sending is not None:
                self._sending.stop()
            prefetch.forget()

    def _go(self) -> None:
        self.ready()
        for attempt in range(TRIES):
            theirs = self._next(first=attempt == 0)
            try:
                if self._options.pull and theirs:
                    self._pull(theirs)
                if self._options.push:
                    self._push(theirs)
                return
            except RemoteError as error:
                if error.kind != failures.REJECTED or not self._options.pull or attempt == TRIES - 1:
                    raise
                _pause(attempt)

    def _begin(self) -> None:
        """What waits here is committed before anything is brought in."""
        local_changes.settle(self._store)
        deduplicate.begin(self._store)

    def _next(self, *, first: bool) -> str | None:
        """The remote branch's commit, freshly fetched if anything is to come in; None where it has none."""
        if not self._options.pull:
            if first:
                self._begin()
            return remotes.tracked(self._repo, self._counterpart())
        with self._fetching() as fetching:
            if first:
                self._begin()
            self._brought_in += self._took_in(local_changes.put_right(self._store))
            known, head = remotes.tracked(self._repo, self._counterpart()), layout.read_head(self._repo).oid
            if known and head:
                self._clean.update(prefetch.prepare(self._store, known, head))
            return self._fetched(fetching)

    def ready(self) -> Head:
        """Our head; raises SyncBlockedError where no branch may be moved now, RemoteError without a remote."""
        state = layout.busy(self._repo)
        if state:
            what = "HEAD is detached" if state == "detached" else f"A git {state} is under way"
            hint = (
                "Go to a branch first: `git switch main`."
                if state == "detached"
                else f"Finish it (`{UNFINISHED[state]}`), then sync again."
            )
            raise SyncBlockedError(f"{what} in {self._repo.worktree}; nothing was synced.", hint)
        head = layout.read_head(self._repo)
        lore_branch.check_head(self._repo, head)
        self._counterpart()
        return head

    def fetched(self) -> str | None:
        """The remote branch's commit; None where it has none yet."""
        return self._fetched(self._fetching())

    def _fetching(self) -> Beside:
        other = self._counterpart()
        self._step(network.FETCHING.format(other.remote))
        return Beside(lambda hear: network.fetch(self._repo, other, self._options.timeout, hear))

    def _fetched(self, fetching: Beside) -> str | None:
        branch, theirs = fetching.wait(self._listener)
        self._take(self._counterpart()._replace(branch=branch))
        return theirs

    def _step(self, what: str) -> None:
        if self._listener is not None:
            self._listener(what)

    def _counterpart(self) -> Counterpart:
        if self._other is None:
            branch = layout.read_head(self._repo).branch or ""
            self._take(remotes.counterpart(self._repo, branch, self._options.remote))
        assert self._other is not None
        return self._other

    def _take(self, other: Counterpart) -> None:
        self._other = other
        self.done = self.done._replace(remote=other.remote, branch=other.branch)

    def _pull(self, theirs: str) -> None:
        self._step("merging")
        merge = local_changes.bring_in(
            self._store, theirs, made=lambda merge: self._send_early(theirs, merge)
        )
        changed, self._brought_in = self._brought_in + self._took_in(merge), []
        head = layout.read_head(self._repo).oid
        if head is not None:
            external_merges.looked_at(self._store, head)
        if changed:
            self._step("indexing")
            local_changes.index(self._store, changed)
        self._fold(came=bool(changed))

    def _send_early(self, theirs: str, merge: Merge) -> bool:
        """Push a merge that is about to be brought in, unless that may lead to one more commit; whether it does."""
        if not self._options.push or merge.commit == theirs or self._sending is not None:
            return False
        folder = f"{self._store.places.folder}/"
        if any(found.before is None and path.startswith(folder) for path, found in merge.changes.items()):
            return False  # what came in may be folded
        self._made[merge.commit] = merge.contents
        self._send(theirs, merge.commit)
        return True

    def _took_in(self, merge: Merge | None) -> list[str]:
        """Count it; the lore that are different now."""
        if merge is None:
            return []
        if merge.merged:
            self._made[merge.commit] = merge.contents
        if CONFIG_NAME in merge.changes:
            self._take_settings()
        paths = [path for path in merge.changes if path.startswith(f"{self._store.places.folder}/")]
        done = self.done
        self.done = done._replace(
            pulled=done.pulled + len(paths),
            merged=done.merged + len(merge.merged),
            conflicts=done.conflicts + merge.conflicts,
            held=done.held + merge.held,
            notes=(*done.notes, *merge.notes),
        )
        return paths

    def _fold(self, *, came: bool) -> None:
        """Fold what came in, also by a sync that was killed; where that cannot be done now, the next sync does it."""
        with contextlib.suppress(EngramError):
            arrived = deduplicate.arrivals(self._store, others_alone=not came)
            if arrived:
                self._step("comparing")
            found = local_changes.fold(self._store, arrived)
            done = self.done
            self.done = done._replace(folded=done.folded + found.folded, alike=done.alike + found.alike)

    def _take_settings(self) -> None:
        """The store's own file came in: say what of it does not count here."""
        store = self._store
        found = in_force(store.places.root, store.places.state)
        store.held_back, store.notes = found.held_back, found.trouble
        told = (*found.trouble, *(f"{one.message} If it is meant: {ACCEPT}" for one in found.held_back))
        self.done = self.done._replace(notes=(*self.done.notes, *told))

    def _push(self, theirs: str | None) -> None:
        """Have the remote take our branch; what was sent on the way is only waited for."""
        while True:
            if self._sending is None:
                ours = layout.read_head(self._repo).oid
                if ours is None or ours == theirs:
                    return
                self._send(theirs, ours)
            theirs = self._sent(theirs)

    def _send(self, theirs: str | None, commit: str) -> None:
        looked = network.LookedAt(self._made, self._clean)
        other, timeout = self._counterpart(), self._options.timeout
        self._sending = Beside(
            lambda hear: network.send(self._store, other, theirs, commit, looked, timeout, hear)
        )

    def _sent(self, theirs: str | None) -> str | None:
        """The commit that the remote has now, after it had `theirs`."""
        sending, self._sending = self._sending, None
        assert sending is not None
        _, commit = sending.wait(self._listener)
        assert commit is not None
        weighed(
            self._store, commit
        )  # what others wrote of it was weighed when it came in; the rest is our own
        remotes.remember(self._repo, layout.read_head(self._repo).branch or "", self._counterpart())
        sent, folder = differences(self._repo, theirs, commit), f"{self._store.places.folder}/"
        pushed = sum(path.startswith(folder) for path in sent)
        self.done = self.done._replace(pushed=self.done.pushed + pushed)
        return commit


def own_repository(store: Store) -> Repository:
    """The repository whose branch is the store's own. Raises UsageError where there is none, so nothing to sync."""
    places = store.places
    if places.repository is not None and places.owns_branch:
        return places.repository
    if places.placement == IN_TREE:
        raise UsageError(
            "This store is part of your own repository, so its lore travel with your own commits; nothing to sync.",
            "Commit, pull and push as you do with your code.",
        )
    raise UsageError(
        "This store is a folder outside git, so there is nothing to sync.",
        "For sync make a store with `engram init`, and `engram import` this folder.",
    )


def _for_a_person(error: EngramError) -> EngramError:
    """Trouble with the repository here stops a sync until somebody looks at it."""
    return SyncBlockedError(error.message, error.hint) if isinstance(error, GitError) else error


def _pause(attempt: int) -> None:
    """Wait a random while, longer each time: those who push at the same moment must not meet again."""
    import random

    time.sleep(random.uniform(0, PAUSE_SECONDS * 2**attempt))  # noqa: S311 - jitter, no secret
