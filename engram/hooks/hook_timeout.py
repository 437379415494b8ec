"""The process that a hook leaves behind when its time is up: a line in the activity log, and what took so long is finished."""

from __future__ import annotations

import sys

from engram.hooks.process import Call, open_for

ACTION = "late"


def main(*words: str) -> int:
    """Note that a hook gave up, then tidy its store: build its index, commit.

    `words` are the fields of its call and the milliseconds that it had.
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
