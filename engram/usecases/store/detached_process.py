"""Processes that outlive the command that starts them."""

from __future__ import annotations

import contextlib
import os
import sys

OBSERVATIONS = "observations"  # the folder of those that wait, in the private state
CONSENT = "sync-consent"  # the file of what a person answered on automatic syncs, in the private state


def start_detached(
    root: str, *more: str, sync: bool = False, module: str = "engram.cli.background_process"
) -> None:
    """Start `tidy` (or what `module` does) for the store at `root` in a process of its own that outlives this one.

    `more` are further arguments, for `tidy` the session whose store is below it; with `sync` it syncs in any case.
    """
    # -P: a folder `engram` where the caller stands is not ours.
    arguments = [sys.executable, "-P", "-m", module, root, *more, *(["--sync"] if sync else [])]
    if sys.platform == "win32":
        import subprocess

        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        null = subprocess.DEVNULL
        subprocess.Popen(
            arguments, stdin=null, stdout=null, stderr=null, creationflags=flags, env=_environment()
        )
    else:
        nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
        # A C library without setsid cannot; the next command does it.
        with contextlib.suppress(OSError, NotImplementedError):
            os.posix_spawn(sys.executable, arguments, _environment(), file_actions=nothing, setsid=True)


def _environment() -> dict[str, str]:
    """Return the environment of a detached process: without what git sets for its hooks."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
