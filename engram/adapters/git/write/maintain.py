"""Keep the object database small: each commit leaves some seven loose objects."""

from __future__ import annotations

import contextlib
import os
import time

from engram.adapters.git.run import failures
from engram.adapters.git.run.runner import run
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

THRESHOLD = 5000  # loose objects
FOLDERS = 256
ABANDONED = 86_400.0  # seconds; no maintenance takes a day
SAMPLE = ("10", "11", "12", "13", "14", "15", "16", "17")  # git itself counts "17" alone (builtin/gc.c)


def loose_objects(repo: Repository) -> int:
    """Estimate the number of loose objects from 8 of the 256 folders, over which ids spread evenly."""
    objects = os.path.join(repo.common_dir, "objects")
    return FOLDERS // len(SAMPLE) * sum(_count_objects(os.path.join(objects, name)) for name in SAMPLE)


def maintain(repo: Repository, *, deadline: float = 300.0) -> bool:
    """Let git pack loose objects if there are enough; return False if it was stopped after `deadline` seconds.

    A person's own gc.auto is respected, including 0 (never). Raises `GitError` if git fails.
    """
    lock = os.path.join(repo.common_dir, "objects", "maintenance.lock")
    _remove_lock(lock, older_than=ABANDONED)
    is_foreign = os.path.exists(lock)
    chosen = run(repo, "config", "--get", "gc.auto", check=False).stdout.strip()
    settings = () if chosen else ("-c", f"gc.auto={THRESHOLD}")
    words = (*settings, "-c", "gc.autoDetach=false", "maintenance", "run", "--auto", "--quiet")
    try:
        run(repo, *words, deadline=deadline)
    except GitError as error:
        if failures.kind(error.stderr) != failures.TIMEOUT:
            raise
        if not is_foreign:
            _remove_lock(lock, older_than=0.0)
        return False
    return True


def _remove_lock(lock: str, *, older_than: float) -> None:
    # If git is stopped just after it has made its lock, the lock stays, and then git silently skips all maintenance.
    with contextlib.suppress(FileNotFoundError):
        if time.time() - os.stat(lock).st_mtime >= older_than:
            os.unlink(lock)


def _count_objects(folder: str) -> int:
    try:
        return sum(
            len(name) in (38, 62) for name in os.listdir(folder)
        )  # sha1 and sha256 ids less two digits
    except FileNotFoundError:
        return 0
