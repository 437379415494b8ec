"""The detached process that a hook starts: it turns reports into entries, and tidies and syncs the store, silently."""

from __future__ import annotations

import sys


def main(root: str, what: str) -> int:
    """Process the reports of the store at `root` and tidy it; if `what` is `sync`, sync it now. Return the exit code."""
    from engram.domain.errors import EngramError
    from engram.usecases.agents import hook_failures
    from engram.usecases.agents.session_capture import process_reports
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller
    from engram.usecases.upkeep.background import commit_and_sync

    try:
        store = open_store(root, Caller("background", "", "background"))
        try:
            process_reports(store)
            commit_and_sync(store, sync=what == "sync")
        except Exception as error:  # noqa: BLE001 - nobody reads what this process prints
            hook_failures.log_failure(store, error)
            return 1
        finally:
            store.close()
    except (EngramError, OSError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
