"""`engram tui`: the terminal app."""

from __future__ import annotations

import os
import sys

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from engram.cli.call import Call

DESCRIPTION = (
    "Open the terminal app: browse, search and judge lore. `engram` alone at a terminal does the same."
)
EXAMPLES = ("engram", "engram tui --store ~/notes")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments of its own."""


def run(call: Call) -> int:
    """Open it; returns the app's exit code."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or call.output.json:
        raise UsageError("The app needs a terminal.", "Here, use `engram list` and `engram query`.")
    from engram.app import Engram
    from engram_tui.main import first_run
    from engram_tui.main import run as run_app

    with first_run(chosen=_is_chosen(call)) as path:
        if path is None:
            return 0
        call.arguments.store = path or call.arguments.store
        store = Engram(call.store)
        try:
            return run_app(store)
        finally:
            store.leave()


def _is_chosen(call: Call) -> bool:
    """Whether it was said which store is meant."""
    return bool(call.arguments.store is not None or call.scope or os.environ.get("ENGRAM_STORE"))
