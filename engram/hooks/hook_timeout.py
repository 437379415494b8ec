"""The detached process that a hook starts when its time is up: it logs that, and finishes the slow work."""

from __future__ import annotations

import sys

from engram.hooks.process import Call, open_for

ACTION = "late"


def main(*words: str) -> int:
    """Log that a hook ran out of time, then tidy its store: build the index, commit. Return the exit code.

    `words` are the fields of its `Call` and its time limit in milliseconds.
    """
    from engram.domain.errors import EngramError
    from engram.usecases.store import activity_log
    from engram.usecases.upkeep.background import tidy

    try:
        store = open_for(Call(*words[:-1]))
        if store is None:
            return 0
        try:
            activity_log.note(store, ACTION, took_ms=float(words[-1]))
            tidy(store)
        finally:
            store.close()
    except (EngramError, OSError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
