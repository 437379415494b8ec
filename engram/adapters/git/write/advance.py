"""Move the branch to a commit that exists already, with the index in step, unless somebody moved it before."""

from __future__ import annotations

import os

from engram.adapters.git.run import failures, layout, locks
from engram.adapters.git.run.environment import DURABLE
from engram.adapters.git.run.runner import run
from engram.adapters.git.write import branch_move_log, lore_branch, merging, staging
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.git.read.tree import Entry
    from engram.adapters.git.run.layout import Head, Repository

REASON = "engram sync"  # in the reflog


def advance(
    repo: Repository,
    head: Head,
    new: str,
    entries: Mapping[str, Entry | None],
    state_folder: str,
) -> bool:
    """Move the branch from `head` to `new`; False when HEAD is elsewhere by now.

    `entries` is what `new` holds otherwise than `head`; the work tree's files are not looked at. The order,
    index first, is that of `commits` (see `staging`). Raises `GitError` when git is busy.
    """
    staging.sync_index(repo, state_folder)
    lore_branch.check_head(repo, head)
    branch = f"{layout.BRANCHES}{head.branch}"
    ref_locks = (os.path.join(repo.git_dir, "HEAD.lock"), os.path.join(repo.common_dir, f"{branch}.lock"))
    locks.wait_free(ref_locks, staging.PATIENCE)
    with locks.hold(staging.index_lock(repo), staging.PATIENCE):
        if layout.read_head(repo) != head:
            return False
        staging.remember(repo, state_folder, entries)
        if entries:
            staging.replace_entries(repo, entries)
        moved = move(repo, branch, head.oid, new)
        if not moved:
            staging.match_head(repo, entries)
    staging.forget(repo, state_folder)
    if moved:
        branch_move_log.note(repo, state_folder, head.oid, new)
    return moved


def move(repo: Repository, ref: str, old: str | None, new: str) -> bool:
    """Move `refs/…` from `old` (None: it does not exist) to `new`; False when it is elsewhere by now, or locked."""
    words = (*DURABLE, "update-ref", "-m", REASON, ref, new, old or "0" * len(new))
    done = run(repo, *words, check=False, env=merging.reflog_identity())
    if done.code == 0:
        return True
    if failures.kind(done.stderr) in (failures.MOVED, failures.BUSY):
        return False
    raise failures.failure(repo.worktree, words, done.code, done.stderr)
