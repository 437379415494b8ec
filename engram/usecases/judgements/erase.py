"""Erase judgements for everyone, by source or line by line, by listing their ids on the branch of judgements."""

from __future__ import annotations

from engram.adapters.git.run import configuration
from engram.adapters.git.write import ledger_branch
from engram.domain.entry import ulid
from engram.domain.errors import NotFoundError, UsageError
from engram.domain.judgements import erasure, ledger
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.judgements.commit_own import commit_own
from engram.usecases.store import judgements
from engram.usecases.store.judgements import branch_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store

MESSAGE = "Erase judgements\n"


def erase(store: Store, ids: Collection[str]) -> int:
    """Erase the judgements with these ids of sources and lines; after a sync no clone reads or restores them.

    Returns how many ids are new. Raises UsageError for an invalid id and outside git, NotFoundError if there are no
    judgements yet, GitError, StoreError.
    """
    for item in ids:
        if not ulid.is_valid(item):
            raise UsageError(
                f"'{item[:60]}' is not the id of a source or of a judgement.",
                "An id has 26 capital letters and digits; `git log -p engram/judgements` shows them.",
            )
    if store.places.repository is None:
        raise UsageError("This store is outside git, so nobody else has its judgements.")
    repo, branch = store.repository, branch_of(store)
    with store.lock:
        commit_own(store)
        for _ in range(ledger_branch.ATTEMPTS):
            tip = ledger_branch.tip(repo, branch)
            if tip is None:
                raise NotFoundError(
                    "There are no judgements here yet.", "To receive those of others: engram sync"
                )
            changes, count = _changes(repo, tip, frozenset(ids))
            if not count:
                return 0
            person, moment = configuration.committer(repo), int(store.clock.now().timestamp())
            new = ledger_branch.write(
                repo, tip, changes, person, moment, MESSAGE, signed_in=store.places.state
            )
            if ledger_branch.move(repo, branch, tip, new):
                judgements.refresh(store)
                return count
    raise ledger_branch.move_error()


def _changes(repo: Repository, tip: str, ids: frozenset[str]) -> tuple[dict[str, bytes | None], int]:
    """Return the changed files, including the list, without the erased lines, and how many ids are new."""
    files = {path: entry.oid for path, entry in ledger_branch.files(repo, tip).items()}
    listed = files.get(ledger.ERASED)
    known = erasure.parse(ledger_branch.contents(repo, [listed])[listed]) if listed else frozenset[str]()
    erased, months = known | ids, erasure.months(ids)
    candidates = {path: oid for path, oid in files.items() if erasure.may_hold(path, ids, months)}
    contents = ledger_branch.contents(repo, candidates.values())
    changes: dict[str, bytes | None] = {ledger.ERASED: erasure.render(erased)}
    for path, oid in candidates.items():
        left = erasure.without(path, contents[oid], ids)
        if left != contents[oid]:
            changes[path] = left or None
    return changes, len(ids - known)
