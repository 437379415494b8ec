"""Sync a store with its remote. The phases, in the order of the methods of `_Sync`:

1. **Prepare**: check that no git operation is in progress, and commit local changes.
2. **Fetch** the remote's branch, in a thread, while local changes are committed and read ahead.
3. **Plan** what comes in, goes out and is merged. `--dry-run` shows this plan and ends here.
4. **Merge** as planned, into a commit that no branch has yet; quarantine entries as the settings say.
5. **Apply** the merge to the files, the branch, git's index and the search index; fold incoming duplicates.
6. **Check** outgoing commits for secrets and **push** them; start again at 2 if somebody else pushed meanwhile.

A merge is pushed while it is applied: it is the same commit on every machine, so it does not matter who has it first.
"""

from __future__ import annotations

import contextlib
import time

from engram.adapters.files.frontmatter.codec import ParsedFiles
from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.read.differences import differences
from engram.adapters.git.remote import remotes
from engram.adapters.git.remote.pre_push import find_hook
from engram.adapters.git.run import failures, layout
from engram.adapters.git.write import lore_branch
from engram.domain.errors import (
    EngramError,
    GitError,
    RemoteError,
    StayedBehindError,
    SyncBlockedError,
    UsageError,
)
from engram.domain.sync.sync_plan import is_lore
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission.incoming_quarantine import mark_checked
from engram.usecases.judgements.exchange import REFUSALS, TRIES, exchange, pause
from engram.usecases.judgements.publishing import may_publish
from engram.usecases.merge import commit_merge, external_merges
from engram.usecases.similarity import deduplicate
from engram.usecases.store import activity_log, excluded_files, sync_consent, sync_state
from engram.usecases.store.accepted_settings import ACCEPT, in_force
from engram.usecases.store.commit import commit_pending, count_waiting
from engram.usecases.store.entry_writer import check_writable
from engram.usecases.store.judgements import branch_of
from engram.usecases.store.store import IN_TREE
from engram.usecases.sync import local_changes, network, own_proposal
from engram.usecases.sync.incoming import merge_incoming, update_index
from engram.usecases.sync.local_changes import LOCK_SECONDS
from engram.usecases.sync.network import prefetch, search_ahead
from engram.usecases.sync.unreadable import unreadable_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.adapters.git.remote.remotes import Counterpart
    from engram.adapters.git.run.layout import Head, Repository
    from engram.domain.sync import sync_plan
    from engram.usecases.merge.commit_merge import Merge
    from engram.usecases.store.store import Store

    Step = Callable[[str], None]

_ALLOW_PUBLISHING = "engram config judgements.publish true --user"
_MAX_LEFT_OUT = 5  # incoming files that are not written here, and
_MAX_STAYED_BEHIND = 25  # local files that were not pushed, listed in the answer


class Options(NamedTuple):
    """The remote ("" for the usual one), the directions, and the time limit of each network command in seconds."""

    remote: str = ""
    pull: bool = True
    push: bool = True
    timeout: float = remotes.DEADLINE


class Synced(NamedTuple):
    """What a sync did, counted in files: pulled, pushed, merged because both sides had changed them.

    `folded` counts incoming entries that were folded into their duplicates, `alike` has the pairs that a person has to
    tell apart, `conflicts` counts losing versions left for a person. `errors` are those that happened after something
    had been done. `held` counts quarantined entries. `notes` name incoming settings that are not in force here, and say
    what happened to uncommitted files.
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
    received_judgements: bool = False
    sent_judgements: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return the answer as JSON."""
        errors, alike = [error.as_dict() for error in self.errors], [pair._asdict() for pair in self.alike]
        return {**self._asdict(), "alike": alike, "errors": errors}


class Planned(NamedTuple):
    """What a sync would do. `waiting` counts uncommitted changes; they go out too."""

    remote: str
    branch: str
    plan: sync_plan.Plan
    waiting: int
    head: str | None


def sync(store: Store, options: Options, step: Step | None = None) -> Synced:
    """Make this clone and its remote equal. `step` receives each step; an exception it raises ends the sync.

    It is called between steps and while waiting for the network, so no step is left half done. Raises UsageError if the
    store has no branch of its own, SyncBlockedError if a person is needed first, RemoteError and others if nothing was
    done yet; later errors are in the result's `errors`.
    """
    changed = sync_state.last_change(store)
    done = _run_sync(store, options, step)
    failed = any(isinstance(error, RemoteError) for error in done.errors)
    if options.push and not failed and done.remote:
        sync_state.forget_change(store, changed)
        if not sync_consent.is_answered(store, done.remote):
            sync_consent.allow(store, done.remote)
    return done


def _run_sync(store: Store, options: Options, step: Step | None) -> Synced:
    began = time.monotonic()
    if (
        store.places.placement == IN_TREE
        and store.places.repository is not None
        and remotes.remotes(store.repository)
    ):
        return _exchange_judgements_only(store, options, step, began)
    repo = own_repository(store)
    run = _Sync(store, repo, _limit_options(store, options), step)
    error: EngramError | None = None
    try:
        run.run()
    except EngramError as raised:
        error = _as_blocking(raised)
    if not isinstance(error, RemoteError) or error.kind in REFUSALS:
        # Judgements have a branch of their own, so they travel even if that of lore is protected or busy.
        try:
            run.exchange_judgements(fetched=error is None and options.pull)
        except EngramError as raised:
            error = error or raised
    sync_state.remember(store, run.done.remote, error)
    notes, unreadable = unreadable_entries(store, run.pulled_paths, run.pushed_paths)
    run.done = run.done._replace(notes=(*run.done.notes, *notes))
    _log(store, run.done, error, began)
    if error is not None and not (
        run.done.pulled or run.done.merged or run.done.pushed or run.done.sent_judgements
    ):
        raise error
    duration_ms = round((time.monotonic() - began) * 1000)
    behind = [
        StayedBehindError(excluded_files.display_path(path), why)
        for path, why in sorted(excluded_files.uncommitted_files(store).items())
    ]
    errors = (*(() if error is None else (error,)), *unreadable, *behind[:_MAX_STAYED_BEHIND])
    return run.done._replace(errors=errors, duration_ms=duration_ms, head=layout.read_head(repo).oid)


def preview(store: Store, options: Options, step: Step | None = None) -> Planned:
    """Plan a sync without carrying it out; only the remote-tracking branch is updated. Raises as `sync`."""
    repo = own_repository(store)
    run = _Sync(store, repo, options, step)
    try:
        plan = run.plan()
    except EngramError as error:
        raise _as_blocking(error) from None
    local_changes.find_hand_edits(store)
    return Planned(run.done.remote, run.done.branch, plan.paths, count_waiting(store), plan.ours)


class _Sync:
    """One sync; `done` is what it has done so far."""

    def __init__(self, store: Store, repo: Repository, options: Options, listener: Step | None) -> None:
        self.done = Synced()
        self._store, self._repo, self._options, self._listener = store, repo, options, listener
        self._other: Counterpart | None = None
        self._read_ahead = commit_merge.ReadAhead()
        self._not_indexed: list[str] = []  # incoming paths
        # The new contents of each merge commit that this sync made.
        self._merges: dict[str, Mapping[str, bytes]] = {}
        self._clean = set[str]()  # commits without secrets
        self._pushing: network.Background | None = None
        self.pulled_paths: set[str] = set()  # of entries, as `pushed_paths`
        self.pushed_paths: set[str] = set()

    def plan(self) -> commit_merge.Plan:
        """Fetch, and plan what a sync of the committed state would do."""
        head = self._check_ready()
        theirs = self._finish_fetch(self._start_fetch())
        return commit_merge.plan_merge(self._store, head.oid, theirs)

    def run(self) -> None:
        """Carry out all phases. Parsed files are cached meanwhile, as merged files are indexed next."""
        from engram.usecases.store.gc_pause import no_collections

        self._store.parsed = ParsedFiles()
        try:
            with no_collections():
                self._run()
        finally:
            if self._pushing is not None:
                self._pushing.stop()
            self._store.parsed = None

    def _run(self) -> None:
        self._check_ready()
        for attempt in range(TRIES):
            theirs = self._prepare_and_fetch(first=attempt == 0)
            try:
                if self._options.pull and theirs:
                    self._pull(theirs)
                self._check_proposal()
                if self._options.push and not own_proposal.is_open(self._store):
                    self._push(theirs)
                return
            except RemoteError as error:
                if error.kind != failures.REJECTED or not self._options.pull or attempt == TRIES - 1:
                    raise
                pause(attempt)

    # 1. Prepare

    def _check_ready(self) -> Head:
        """Return our head. Raises SyncBlockedError if no branch may be moved now, RemoteError without a remote."""
        layout.check_idle(self._repo, SyncBlockedError, "synced")
        head = layout.read_head(self._repo)
        lore_branch.check_head(self._repo, head)
        self._find_counterpart()
        return head

    def _commit_local_changes(self) -> None:
        local_changes.commit_local_changes(self._store)
        deduplicate.begin(self._store)

    # 2. Fetch

    def _prepare_and_fetch(self, *, first: bool) -> str | None:
        """Return the remote branch's commit, fetched now if this sync pulls; None if it has none."""
        if not self._options.pull:
            if first:
                self._commit_local_changes()
            theirs = remotes.tracked_commit(self._repo, self._find_counterpart())
            local_changes.keep_back(self._store, theirs, self._read_ahead.contents)
            return theirs
        # From before the fetch: our changes since then are what will be merged, and what the repair looks at.
        known = remotes.tracked_commit(self._repo, self._find_counterpart())
        with self._start_fetch() as fetching:
            if first:
                self._commit_local_changes()
            head = layout.read_head(self._repo).oid
            if known and head:
                prefetch(self._store, known, head, self._read_ahead)
            head = self._repair_own_branch()
            if known and head:
                self._clean.update(search_ahead(self._store, known, head, self._read_ahead))
            theirs = self._finish_fetch(fetching)
        if self._options.push:
            local_changes.keep_back(self._store, theirs, self._read_ahead.contents)
        return theirs

    def _repair_own_branch(self) -> str | None:
        """Redo merges in our own branch that were made without Engram's rules; return its commit."""
        head = layout.read_head(self._repo).oid
        if head is not None and external_merges.repair_merges(self._store, head, self._read_ahead) != head:
            self._not_indexed += self._count_merge(merge_incoming(self._store, head, own=True))
            head = layout.read_head(self._repo).oid
        return head

    def _start_fetch(self) -> network.Background:
        other = self._find_counterpart()
        self._report(network.FETCHING.format(other.remote))
        timeout, judgements, quiet = self._options.timeout, branch_of(self._store), self._listener is None
        return network.Background(
            lambda report: network.fetch(self._repo, other, timeout, report, judgements, quiet=quiet)
        )

    def _finish_fetch(self, fetching: network.Background) -> str | None:
        branch, theirs = fetching.wait(self._listener)
        self._set_counterpart(self._find_counterpart()._replace(branch=branch))
        return theirs

    # 3. to 5. Plan, merge, apply

    def _pull(self, theirs: str) -> None:
        self._report("merging")
        merge = merge_incoming(
            self._store,
            theirs,
            on_merge=lambda merge: self._push_early(theirs, merge),
            read_ahead=self._read_ahead,
        )
        changed, self._not_indexed = self._not_indexed + self._count_merge(merge), []
        head = layout.read_head(self._repo).oid
        if head is not None:
            external_merges.mark_repaired(self._store, head)
        if changed:
            self._report("indexing")
            update_index(self._store, changed)
        self._fold_incoming(has_changes=bool(changed))

    def _count_merge(self, merge: Merge | None) -> list[str]:
        """Add an applied merge to the counts, and return the paths that it changed in the lore folder."""
        if merge is None:
            return []
        if merge.merged:
            self._merges[merge.commit] = merge.contents
        if CONFIG_NAME in merge.changes:
            self._read_settings()
        paths = [
            path
            for path in merge.changes
            if path.startswith(f"{self._store.places.folder}/") and path not in merge.left_out
        ]
        self.pulled_paths.update(path for path in paths if is_lore(path, self._store.places.folder))
        done = self.done
        self.done = done._replace(
            pulled=done.pulled + len(paths),
            merged=done.merged + len(merge.merged),
            conflicts=done.conflicts + merge.conflicts,
            held=done.held + merge.held,
            notes=(*done.notes, *merge.notes, *_describe_left_out(merge)),
        )
        return paths

    def _read_settings(self) -> None:
        """Read the store's settings after they changed, and note which of them are not in force here."""
        store = self._store
        found = in_force(store.places.root, store.places.state)
        store.held_back, store.notes = found.held_back, found.trouble
        held_back = (f"{one.message} If this is intended: {ACCEPT}" for one in found.held_back)
        self._add_notes(*found.trouble, *held_back)

    def _fold_incoming(self, *, has_changes: bool) -> None:
        """Fold incoming duplicates, also those of a killed sync; on an error the next sync does it."""
        with contextlib.suppress(EngramError):
            arrived = deduplicate.arrivals(self._store, others_alone=not has_changes)
            if arrived:
                self._report("comparing")
            result = fold_duplicates(self._store, arrived)
            done = self.done
            self.done = done._replace(folded=done.folded + result.folded, alike=done.alike + result.alike)

    def _check_proposal(self) -> None:
        """Note the outcome of this clone's proposal, and entries that it lacks."""
        theirs = remotes.tracked_commit(self._repo, self._find_counterpart())
        notes = own_proposal.close_if_merged(self._store, theirs)
        if self._options.push:
            notes += own_proposal.describe_unproposed(self._store, theirs)
        self._add_notes(*notes)

    # 6. Check and push

    def _push_early(self, theirs: str, merge: Merge) -> bool:
        """Start to push a merge that is about to be applied, unless another commit may follow; return whether it did."""
        if own_proposal.own_proposal(self._store) is not None:
            return False  # the branch may be protected
        if not self._options.push or merge.commit == theirs or self._pushing is not None:
            return False
        folder = f"{self._store.places.folder}/"
        if any(found.before is None and path.startswith(folder) for path, found in merge.changes.items()):
            return False  # incoming entries may be folded
        self._merges[merge.commit] = merge.contents
        self._start_push(theirs, merge.commit)
        return True

    def _push(self, theirs: str | None) -> None:
        """Push our branch; if a push was started early, wait for it."""
        while True:
            if self._pushing is None:
                ours = layout.read_head(self._repo).oid
                if ours is None or ours == theirs or self._has_same_files(ours, theirs):
                    return
                self._start_push(theirs, ours)
            theirs = self._finish_push(theirs)

    def _has_same_files(self, ours: str, theirs: str | None) -> bool:
        """Return whether only history would be pushed, as after a proposal was merged by squashing."""
        proposed = own_proposal.own_proposal(self._store) is not None
        return proposed and theirs is not None and not differences(self._repo, theirs, ours)

    def _start_push(self, theirs: str | None, commit: str) -> None:
        other, timeout = self._find_counterpart(), self._options.timeout
        vetted = network.Vetted(dict(self._merges), frozenset(self._clean))
        quiet = self._listener is None
        self._pushing = network.Background(
            lambda report: network.push(
                self._store, other, theirs, commit, vetted, timeout, report, quiet=quiet
            )
        )

    def _finish_push(self, theirs: str | None) -> str | None:
        """Wait for the push; return the commit that the remote has now. It had `theirs` before."""
        pushing, self._pushing = self._pushing, None
        assert pushing is not None
        _, commit = pushing.wait(self._listener)
        assert commit is not None
        mark_checked(self._store, commit)  # what others wrote was checked when it came in
        remotes.remember(self._repo, layout.read_head(self._repo).branch or "", self._find_counterpart())
        sent, folder = differences(self._repo, theirs, commit), f"{self._store.places.folder}/"
        pushed = sum(path.startswith(folder) for path in sent)
        self.pushed_paths.update(path for path in sent if is_lore(path, self._store.places.folder))
        self.done = self.done._replace(pushed=self.done.pushed + pushed)
        self._note_skipped_hook()
        return commit

    def _note_skipped_hook(self) -> None:
        """Note, once, that a hook of the repository was not run for the push."""
        hook = None if self._store.settings.flag(network.HOOKS) else find_hook(self._repo)
        note = f"{hook} was not run for this push. To run it: `engram config {network.HOOKS} true --user`"
        if hook is not None and note not in self.done.notes:
            self._add_notes(note)

    # 7. Judgements

    def exchange_judgements(self, *, fetched: bool) -> None:
        """Send and receive judgements; `fetched` says that their branch was fetched with that of lore."""
        store, options = self._store, self._options
        answer = may_publish(store) if options.push else "no"
        found = exchange(
            store,
            self.done.remote or options.remote,
            publish=answer == "yes",
            timeout=options.timeout,
            report=self._listener,
            fetched=fetched,
        )
        if found.refused:
            self._add_notes(f"Judgements were not sent: {found.refused}")
        self.done = self.done._replace(
            remote=self.done.remote or found.remote,
            received_judgements=found.received,
            sent_judgements=found.sent,
        )

    # Used by all phases

    def _add_notes(self, *notes: str) -> None:
        self.done = self.done._replace(notes=(*self.done.notes, *notes))

    def _report(self, step: str) -> None:
        if self._listener is not None:
            self._listener(step)

    def _find_counterpart(self) -> Counterpart:
        if self._other is None:
            branch = layout.read_head(self._repo).branch or ""
            self._set_counterpart(remotes.counterpart(self._repo, branch, self._options.remote))
        assert self._other is not None
        return self._other

    def _set_counterpart(self, other: Counterpart) -> None:
        self._other = other
        self.done = self.done._replace(remote=other.remote, branch=other.branch)


def _describe_left_out(merge: Merge) -> list[str]:
    """Return sentences on incoming files that are not written to the work tree."""
    found = [path for path in sorted(merge.left_out) if path in merge.changes]
    sentences = [
        f"{excluded_files.display_path(path[:200])} came in, and is not written here: it {merge.left_out[path]}."
        for path in found[:_MAX_LEFT_OUT]
    ]
    more = len(found) - _MAX_LEFT_OUT
    return sentences + ([f"{more} more files that came in are not written here."] if more > 0 else [])


def fold_duplicates(store: Store, arrived: Sequence[str]) -> deduplicate.Folded:
    """Fold incoming entries into their duplicates here, and commit that. Raises EngramError."""
    found = deduplicate.fold_arrivals(store, arrived)
    if found.folded:
        commit_pending(store, wait=LOCK_SECONDS)
    return found


def _exchange_judgements_only(store: Store, options: Options, step: Step | None, began: float) -> Synced:
    """Exchange only judgements: the store is in the person's own repository, whose commits carry its lore."""
    repo = store.repository
    run = _Sync(store, repo, _limit_options(store, options), step)
    try:
        run.exchange_judgements(fetched=False)
    except EngramError as error:
        sync_state.remember(store, run.done.remote, error)
        raise
    sync_state.remember(store, run.done.remote, None)
    notes = run.done.notes
    if may_publish(store) == "ask" and options.push:
        notes += (f"Judgements stay in this clone until you allow it: {_ALLOW_PUBLISHING}",)
    duration_ms = round((time.monotonic() - began) * 1000)
    return run.done._replace(notes=notes, duration_ms=duration_ms, head=layout.read_head(repo).oid)


def own_repository(store: Store) -> Repository:
    """Return the repository if the store has a branch of its own there. Raises UsageError if there is nothing to sync."""
    places = store.places
    if places.repository is not None and places.owns_branch:
        return places.repository
    if places.placement == IN_TREE:
        raise UsageError(
            "This store is part of your own repository, so its lore travels with your own commits; there is nothing to sync.",
            "Commit, pull and push as you do with your code.",
        )
    raise UsageError(
        "This store is a folder outside git, so there is nothing to sync.",
        "To sync, create a store with `engram init` and `engram import` this folder into it.",
    )


def _limit_options(store: Store, options: Options) -> Options:
    """Return the options, without the push for a read-only scope. Raises StoreError for a push alone."""
    if not store.scope.readonly:
        return options
    if not options.pull:
        check_writable(store)
    return options._replace(push=False)


def _as_blocking(error: EngramError) -> EngramError:
    """Turn a GitError of the local repository into a SyncBlockedError: a person has to look at it."""
    return SyncBlockedError(error.message, error.hint) if isinstance(error, GitError) else error


def _log(store: Store, done: Synced, error: EngramError | None, began: float) -> None:
    """Add a line to the activity log."""
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
        details={**counts, "errors": int(error is not None)},
    )
