"""Exchange judgements with remotes: fetch their branch, merge it, add our own lines, push.

Own lines are safe in the private folder: whatever fails or is killed here, the next exchange sends them.
"""

from __future__ import annotations

import os
import time

from engram.adapters.files.durable.lock import FileLock
from engram.adapters.git.read.differences import outgoing
from engram.adapters.git.remote import remotes
from engram.adapters.git.remote.remotes import Counterpart
from engram.adapters.git.run import failures, layout
from engram.adapters.git.write import ledger_branch
from engram.domain.errors import RemoteError, SecretInCommitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.judgements import ledger_merge
from engram.usecases.judgements.commit_own import commit_own
from engram.usecases.store import judgements
from engram.usecases.store.commit_secrets import secret_in_commits
from engram.usecases.store.judgements import branch_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.git.remote.remotes import Report
    from engram.usecases.store.store import Store

TRIES = 6  # pushes
PAUSE_SECONDS = 0.2  # the longest pause before the second push; doubled before each further one
_OTHER_REMOTE_SECONDS = 20.0  # the timeout for a remote that is only read
# Reasons for which a push right after a successful fetch means that the user may not push.
REFUSALS = (failures.DECLINED, failures.FORBIDDEN, failures.AUTH)
_LOCK_FILE = "judgements.lock"


class Exchanged(NamedTuple):
    """The result of an exchange: whether judgements were received, and sent to `remote`.

    `refused` says why the remote refuses ours ("" if it does not), which is no failure. `unreachable` are other remotes
    that could not be read.
    """

    received: bool = False
    sent: bool = False
    refused: str = ""
    remote: str = ""
    unreachable: tuple[str, ...] = ()


def merge(store: Store, tips: Sequence[str]) -> bool:
    """Merge commits of remotes into the local branch; return whether it moved. Raises GitError."""
    return ledger_merge.merge_tips(store.repository, branch_of(store), tips)


def exchange(
    store: Store,
    remote: str = "",
    *,
    publish: bool,
    timeout: float = remotes.DEADLINE,
    report: Report | None = None,
    fetched: bool = False,
) -> Exchanged:
    """Fetch judgements from all remotes that have them; with `publish`, push to `remote` or the default one.

    `fetched` says that the default remote was fetched just now. `timeout` applies to each git command that uses the
    network, in seconds; `report` receives its progress and may end it by raising an exception. Raises RemoteError if the
    remote cannot be read, after committing own lines; SecretInCommitError; GitError and StoreError like `commit_own`.
    """
    repo = store.places.repository
    if repo is None:
        return Exchanged()
    # Lock all work trees, which share the branch; the state folder belongs to one of them.
    folder = os.path.join(repo.common_dir, "engram")
    os.makedirs(folder, exist_ok=True)
    with FileLock(os.path.join(folder, _LOCK_FILE), timeout=timeout):
        return _Exchange(store, remote, timeout, report).run(publish=publish, fetched=fetched)


class _Exchange:
    """One exchange; `done` is its result so far."""

    def __init__(self, store: Store, named: str, timeout: float, report: Report | None) -> None:
        self.done = Exchanged()
        self._store, self._repo, self._branch = store, store.repository, branch_of(store)
        self._timeout, self._report = timeout, report
        self._remotes = [other.name for other in remotes.remotes(self._repo)]
        self._target: Counterpart | None = None
        if self._remotes:
            self._choose_target(named)

    def run(self, *, publish: bool, fetched: bool) -> Exchanged:
        for attempt in range(TRIES):
            self._receive(with_others=attempt == 0, fetched=fetched and attempt == 0)
            if not publish or self._target is None:
                break
            try:
                self._send(self._target)
                break
            except RemoteError as error:
                if error.kind in REFUSALS:
                    self.done = self.done._replace(refused=error.message)
                    break
                if error.kind != failures.REJECTED or attempt == TRIES - 1:
                    raise
                pause(attempt)
        return self.done

    def _choose_target(self, named: str) -> None:
        """Choose the remote of the store's branch; in a code repository that of the judgements, else origin or the only one."""
        head = layout.read_head(self._repo).branch if self._store.places.owns_branch else None
        try:
            found = remotes.counterpart(self._repo, head or self._branch, named)
        except RemoteError as error:
            if named:
                raise
            self.done = self.done._replace(refused=error.message)
            return
        self._target = Counterpart(found.remote, self._branch)
        self.done = self.done._replace(remote=found.remote)

    def _receive(self, *, with_others: bool, fetched: bool) -> None:
        """Fetch, merge, and commit own lines, even if the target remote cannot be read."""
        tips: list[str] = []
        failure: RemoteError | None = None
        try:
            if self._target is not None:
                known = remotes.tracked_commit(self._repo, self._target) if fetched else None
                tips += ([known] if known else []) if fetched else self._fetch(self._target, self._timeout)
            if with_others:
                tips += self._fetch_from_others()
        except RemoteError as error:
            failure = error
        received = merge(self._store, tips)
        commit_own(self._store)
        if received:
            judgements.refresh(self._store)  # lookups by id use the judgements read last
        self.done = self.done._replace(received=received or self.done.received)
        if failure is not None:
            raise failure

    def _fetch_from_others(self) -> list[str]:
        tips: list[str] = []
        for name in self._remotes:
            if self._target is not None and name == self._target.remote:
                continue
            try:
                tips += self._fetch(
                    Counterpart(name, self._branch), min(self._timeout, _OTHER_REMOTE_SECONDS)
                )
            except RemoteError:
                self.done = self.done._replace(unreachable=(*self.done.unreachable, name))
        return tips

    def _fetch(self, other: Counterpart, timeout: float) -> list[str]:
        found = remotes.fetch(self._repo, other, deadline=timeout, report=self._report, apart=True)
        return [found] if found else []

    def _send(self, other: Counterpart) -> None:
        ours = ledger_branch.tip(self._repo, self._branch)
        theirs = remotes.tracked_commit(self._repo, other)
        if ours is None or ours == theirs:
            return
        self._check_commits(outgoing(self._repo, theirs, ours))
        remotes.push(self._repo, other, ours, deadline=self._timeout, report=self._report)
        self.done = self.done._replace(sent=True)

    def _check_commits(self, commits: Sequence[str]) -> None:
        """Raise SecretInCommitError if the message, author or committer of a commit contains a secret."""
        found = secret_in_commits(self._store, commits)
        if found is None:
            return
        oid, what, secrets = found
        raise SecretInCommitError(
            f"The {what} of commit {oid[:10]} of {self._branch} holds what looks like a secret ({secrets[0].rule}); your"
            " judgements were not pushed.",
            f"Revoke the secret, take it out of `git config user.name`, then `git branch -D {self._branch}`: the next"
            " sync makes the branch anew, with all that you judged.",
            tuple(secret.as_dict() for secret in secrets),
        )


def pause(attempt: int) -> None:
    """Wait a random time, longer with each attempt, so that clones that pushed at once do not collide again."""
    import random

    time.sleep(random.uniform(0, PAUSE_SECONDS * 2**attempt))  # noqa: S311 - jitter, no secret
