"""`engram tui`: the terminal app."""

from __future__ import annotations

import os
import sys

from engram.cli.invocation import Call
from engram.cli.output import at_terminal
from engram.cli.parsing import argument, switch
from engram.domain.errors import UsageError

DESCRIPTION = (
    "Open the terminal app: browse, search and judge lore. `engram` alone at a terminal does the same.\n"
    "With --web the same app opens in a browser on this machine, at an address that works once."
)
EXAMPLES = ("engram", "engram tui --store ~/notes", "engram tui --web --no-open   # says at which address")
PORT = 8850
ARGUMENTS = (
    switch("--web", "serve it to a browser (needs the extra engram-lore[web])"),
    argument("--port", "N", f"with --web: the port (default: {PORT}; 0: any)", type=int),
    switch("--no-open", "with --web: print the address, do not open a browser"),
)


def run(call: Call) -> int:
    """Open the app; returns its exit code."""
    given = call.arguments
    if call.output.json:
        raise UsageError("The app has no JSON output.", "Leave out --json, or use `engram list --json`.")
    if given.web:
        return _run_web(call)
    if given.port is not None or given.no_open:
        raise UsageError("--port and --no-open need --web.", "Add --web, or leave them out.")
    from engram_tui.main import delay_collection, first_run, in_browser
    from engram_tui.main import run as run_app

    if not (at_terminal() or in_browser()):
        raise UsageError("The app needs a terminal.", "Here, use `engram list` and `engram query`.")
    with delay_collection(), first_run(chosen=_is_chosen(call)) as path:
        if path is None:
            return 0
        call.arguments.store = path or call.arguments.store
        from engram.app import Engram
        from engram.usecases.upkeep.background import start_sync

        store = Engram(call.store)
        start_sync(store.store)
        try:
            return run_app(store)
        finally:
            store.leave()


def _run_web(call: Call) -> int:
    """Serve the app until Ctrl-C. The store is opened here first, so that its errors are reported at once."""
    from engram_tui.main import first_run
    from engram_tui.shell.store_watch import abbreviate_home
    from engram_tui.web.server import check_packages, serve_web

    check_packages()
    given = call.arguments
    with first_run(chosen=_is_chosen(call) or not at_terminal()) as path:
        if path is None:
            return 0
        given.store = path or given.store
        title = f"Engram · {abbreviate_home(call.store.places.root)}"
        call.close_store()
        chosen = [f"--store={given.store}"] if given.store else []
        scope = [f"--scope={call.scope}"] if call.scope else []
        command = (sys.executable, "-P", "-m", "engram", "tui", *chosen, *scope)
        return serve_web(
            command, PORT if given.port is None else given.port, title, browser=not given.no_open
        )


def _is_chosen(call: Call) -> bool:
    """Return whether the caller named a store."""
    return bool(call.arguments.store is not None or call.scope or os.environ.get("ENGRAM_STORE"))
