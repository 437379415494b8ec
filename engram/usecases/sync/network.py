"""Fetch and push, and the thread that runs them while the sync goes on."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections import deque

from engram.adapters.files.merge.merge_canonical import parse_canonical
from engram.adapters.git.read.differences import blobs, differences, differences_and_folders
from engram.adapters.git.remote import pre_push, remotes
from engram.adapters.git.write import lore_branch
from engram.adapters.git.write.tree_edit import read_folders
from engram.domain.errors import EngramError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission.outgoing_secrets import check_outgoing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import FrameType
    from typing import Self

    from engram.adapters.git.remote.remotes import Counterpart
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store

    Report = Callable[[str], None]
    Result = tuple[str, str | None]
    from engram.adapters.git.read.differences import Difference
    from engram.usecases.merge.commit_merge import ReadAhead

FETCHING, PUSHING, SCANNING = "fetching from {}", "pushing to {}", "looking for secrets"
HOOKS = "sync.hooks"
_POLL_SECONDS = 0.1


def fetch(
    repo: Repository, other: Counterpart, timeout: float, report: Report, judgements: str, *, quiet: bool
) -> Result:
    """Fetch the remote's branch; return its name and commit, None if it does not exist. Raises RemoteError, GitError.

    The branch `judgements` is fetched with it if the remote has one.
    """
    report_progress = _progress_reporter(FETCHING.format(other.remote), report)
    known = remotes.tracked_commit(repo, other)

    def fetch_branch(other: Counterpart) -> str | None:
        return remotes.fetch(
            repo, other, deadline=timeout, report=report_progress, quiet=quiet, also=judgements
        )

    theirs = fetch_branch(other)
    if theirs is None and known is None and other.branch != lore_branch.BRANCH:
        # The remote's branch may have another name. One that was deleted is recreated by the push.
        name = remotes.default_branch(repo, other.remote, but=judgements, deadline=timeout)
        if name and name != other.branch:
            other = other._replace(branch=name)
            theirs = fetch_branch(other)
    return other.branch, theirs


class Vetted(NamedTuple):
    """What a push need not search for secrets: `clean` commits, and of `merges` all but the new contents given here."""

    merges: Mapping[str, Mapping[str, bytes]]
    clean: Collection[str]


def push(
    store: Store,
    other: Counterpart,
    theirs: str | None,
    commit: str,
    vetted: Vetted,
    timeout: float,
    report: Report,
    *,
    quiet: bool,
) -> Result:
    """Push a commit to the remote, which has `theirs`, unless it holds a secret; return the branch and the commit.

    With the setting `sync.hooks` the repository's own hook runs in between. Raises SecretInCommitError, SyncBlockedError,
    RemoteError.
    """
    report(SCANNING)
    check_outgoing(
        store,
        theirs,
        commit,
        lambda done, total: report(f"{SCANNING}: {100 * done // total} %"),
        vetted.merges,
        vetted.clean,
    )
    step = PUSHING.format(other.remote)
    hook = pre_push.find_hook(store.repository) if store.settings.flag(HOOKS) else None
    if hook is not None:
        report(f"running {hook}")
        pre_push.run_hook(hook, store.repository, other, theirs, commit, timeout)
    report(step)
    report_progress = _progress_reporter(step, report)
    remotes.push(store.repository, other, commit, deadline=timeout, report=report_progress, quiet=quiet)
    return other.branch, commit


def _progress_reporter(step: str, report: Report) -> Report:
    """Return a function that reports git's progress as that of a step."""
    return lambda progress: report(f"{step}: {progress}" if progress else step)


class _StoppedError(Exception):
    """Raised in the thread to end work that nobody waits for."""


class Background:
    """A fetch or push in a thread of its own. Leaving the context, or `stop`, ends it and the git process it started.

    Ctrl-C ends it, too, wherever the main thread is: a KeyboardInterrupt between two statements would reach no `finally`.
    """

    def __init__(self, work: Callable[[Report], Result]) -> None:
        """Start `work`, which receives a function that takes progress reports."""
        self._work = work
        self._reports: deque[str] = deque()
        self._stopped = False
        self._interrupted = False
        self._result: Result = "", None
        self._error: BaseException | None = None
        self._handler: Callable[[int, FrameType | None], object] | None = None
        self._handler = self._replace_handler()
        self._thread = threading.Thread(target=self._run, name="engram-network")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait(self, report: Report | None = None) -> Result:
        """Wait for the work; return its result or raise its error. An exception raised by `report` ends the work."""
        try:
            while self._thread.is_alive():
                self._forward(report)
                self._thread.join(_POLL_SECONDS)
            self._forward(report)
        finally:
            self.stop()
        if self._interrupted:  # Python drops a KeyboardInterrupt raised in a destructor
            raise KeyboardInterrupt
        if self._error is not None:
            raise self._error
        return self._result

    def stop(self) -> None:
        """End the work and wait until it has ended. Does nothing if it has."""
        self._stopped = True
        self._thread.join()
        if self._handler is not None and signal.getsignal(signal.SIGINT) == self._interrupt:
            signal.signal(signal.SIGINT, self._handler)

    def _replace_handler(self) -> Callable[[int, FrameType | None], object] | None:
        """Take over SIGINT if this is the main thread and Python handles it; return the previous handler."""
        if threading.current_thread() is not threading.main_thread():
            return None
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            return None
        signal.signal(signal.SIGINT, self._interrupt)
        return handler

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._stopped = self._interrupted = True
        if self._handler is not None:
            self._handler(number, frame)

    def _forward(self, report: Report | None) -> None:
        while report is not None and self._reports:
            report(self._reports.popleft())

    def _receive(self, text: str) -> None:
        # A transfer repeats its last report while it waits, so this can end it.
        if self._stopped:
            raise _StoppedError
        if not self._reports or self._reports[-1] != text:
            self._reports.append(text)

    def _run(self) -> None:
        try:
            self._result = self._work(self._receive)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._error = error


# Work that is done ahead while git fetches.

_MAX_FILES = 2000  # more are read when they are needed, with progress reported


def prefetch(store: Store, known: str, head: str, into: ReadAhead) -> None:
    """Read our changes since `known`, the remote's last known commit. Errors are ignored: they recur when the files are needed."""
    repo = store.repository
    with contextlib.suppress(EngramError):
        changed, folders = differences_and_folders(repo, known, head)
        if 0 < len(changed) <= _MAX_FILES:
            _read_entries(store, changed, into)
            into.folders = read_folders(repo, head, changed, folders)


def search_ahead(store: Store, known: str, head: str, read: ReadAhead) -> Collection[str]:
    """Return the commits since `known` without secrets; none if one has a secret or they are many: then the push searches."""
    with contextlib.suppress(EngramError):
        changed = differences(store.repository, known, head)
        if 0 < len(changed) <= _MAX_FILES:
            return check_outgoing(store, known, head, known=read.contents, changed=changed)
    return ()


def _read_entries(store: Store, changed: Mapping[str, Difference], into: ReadAhead) -> None:
    """Read and parse both versions of the entries that we changed: if the remote changed them too, they are merged."""
    found = [
        entry
        for path, difference in changed.items()
        if sync_plan.is_lore(path, store.places.folder)
        for entry in difference
        if entry is not None and entry.mode in sync_plan.REGULAR
    ]
    contents = blobs(store.repository, (entry.oid for entry in found), into.contents)
    into.keep(contents)
    if store.parsed is not None:
        for raw in contents.values():
            parse_canonical(raw, store.categories, store.parsed)
