"""Keep the object database small: each commit leaves some seven loose objects behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from engram.adapters.git import failures
from engram.adapters.git.runner import run
from engram.domain.errors import GitError

if TYPE_CHECKING:
    from engram.adapters.git.layout import Repository

THRESHOLD = 5000  # loose objects
FOLDERS = 256
SAMPLE = "17"  # the folder that git itself counts to decide (builtin/gc.c)


def loose_objects(repo: Repository) -> int:
    """About how many loose objects there are, from one of the 256 folders they spread over evenly."""
    try:
        names = os.listdir(os.path.join(repo.common_dir, "objects", SAMPLE))
    except FileNotFoundError:
        return 0
    return FOLDERS * sum(len(name) in (38, 62) for name in names)


def maintain(repo: Repository, *, deadline: float = 300.0) -> bool:
    """Let git pack what is loose if there is enough of it; False when `deadline` seconds were too few.

    A person's own gc.auto is respected, 0 (never) included. Raises `GitError` when git fails.
    """
    chosen = run(repo, "config", "--get", "gc.auto", check=False).stdout.strip()
    settings = () if chosen else ("-c", f"gc.auto={THRESHOLD}")
    words = (*settings, "-c", "gc.autoDetach=false", "maintenance", "run", "--auto", "--quiet")
    try:
        run(repo, *words, deadline=deadline)
    except GitError as error:
        if failures.kind(error.stderr) == failures.TIMEOUT:
            return False
        raise
    return True
