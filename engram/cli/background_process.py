"""The detached process that a command leaves behind: commits, index and syncs of one store, silently."""

from __future__ import annotations

import sys


def main(root: str, session: str = "background", *, sync: bool = False) -> int:
    """Tidy the store at `root`, and the one of `session` in it; sync it where that is due, wanted now, or once it is quiet.

    A store that is gone is none of our business.
    """
    from engram.domain.errors import EngramError
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller
    from engram.usecases.upkeep.background import tidy_and_send

    try:
        tidy_and_send(open_store(root, Caller(session, "", "background")), sync=sync)
    except (EngramError, OSError):
        return 1
    return 0


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--sync"]
    sys.exit(main(*words, sync="--sync" in sys.argv[1:]))
