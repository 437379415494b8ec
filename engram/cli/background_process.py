"""The detached process that a command leaves behind: it commits, indexes and syncs one store, silently."""

from __future__ import annotations

import sys


def main(root: str, session: str = "background", *, sync: bool = False) -> int:
    """Commit and index the store at `root` and its session store; sync it if `sync` is set or a sync is due. Returns the exit code.

    A store that no longer exists is not an error worth reporting: the exit code is 1, and nothing is printed.
    """
    from engram.domain.errors import EngramError
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller
    from engram.usecases.upkeep.background import commit_and_sync

    try:
        commit_and_sync(open_store(root, Caller(session, "", "background")), sync=sync)
    except (EngramError, OSError):
        return 1
    return 0


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--sync"]
    sys.exit(main(*words, sync="--sync" in sys.argv[1:]))
