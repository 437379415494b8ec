"""The detached process that a command leaves behind: commits and index of one store, silently."""

from __future__ import annotations

import sys


def main(root: str, session: str = "background") -> int:
    """Tidy the store at `root`, and the one of `session` in it; a store that is gone is none of our business."""
    from engram.domain.errors import EngramError
    from engram.usecases.background import tidy
    from engram.usecases.open_store import open_store
    from engram.usecases.store import Caller

    try:
        store = open_store(root, Caller(session, ""))
        tidy(store)
        store.close()
    except (EngramError, OSError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
