"""Keep the object database small: each commit leaves some seven loose objects behind."""

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
ABANDONED = 86_400.0  # seconds: no maintenance takes a day
SAMPLE = ("10", "11", "12", "13", "14", "15", "16", "17")  # git itself counts "17" alone (builtin/gc.c)


def loose_objects(repo: Repository) -> int:
    """About how many loose objects there are, from 8 of the 256 folders that their ids spread over evenly."""
    objects = os.path.join(repo.common_dir, "objects")
    return FOLDERS // len(SAMPLE) * sum(_objects_in(os.path.join(objects, name)) for name in SAMPLE)


def maintain(repo: Repository, *, deadline: float = 300.0) -> bool:
    """Let git pack what is loose if there is enough of it; False when `deadline` seconds were too few.

    A person's own gc.auto is respected, 0 (never) included. Raises `GitError` when git fails.
    """
    lock = os.path.join(repo.common_dir, "objects", "maintenance.lock")
    _drop(lock, older_than=ABANDONED)
    theirs = os.path.exists(lock)
    chosen = run(repo, "config", "--get", "gc.auto", check=False).stdout.strip()
    settings = () if chosen else ("-c", f"gc.auto={THRESHOLD}")
    words = (*settings, "-c", "gc.autoDetach=false", "maintenance", "run", "--auto", "--quiet")
    try:
        run(repo, *words, deadline=deadline)
    except GitError as error:
        if failures.kind(error.stderr) != failures.TIMEOUT:
            raise
        if not theirs:
            _drop(lock, older_than=0.0)
        return False
    return True


def _drop(lock: str, *, older_than: float) -> None:
    # Git stopped in the instant after it made its lock leaves it behind, and a lock that stays means that no
    # maintenance is ever done again: git passes over it without a word.
    with contextlib.suppress(FileNotFoundError):
        if time.time() - os.stat(lock).st_mtime >= older_than:
            os.unlink(lock)


def _objects_in(folder: str) -> int:
    try:
        return sum(
            len(name) in (38, 62) for name in os.listdir(folder)
        )  # sha1 and sha256 ids less two digits
    except FileNotFoundError:
        return 0
