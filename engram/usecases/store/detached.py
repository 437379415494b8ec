"""Processes that outlive the command that starts them."""

from __future__ import annotations

import os
import sys

OBSERVATIONS = "observations"  # the folder of those that wait, in the private state
CONSENT = "sync-consent"  # the file of what a person answered on automatic syncs, in the private state


def start_detached(root: str, *more: str, sync: bool = False, module: str = "engram.cli.tidy") -> None:
    """Start `tidy` (or what `module` does) for the store at `root` in a process of its own that outlives this one.

    `more` are further arguments, for `tidy` the session whose store is below it; with `sync` it syncs in any case.
    """
    # -P: a folder `engram` where the caller stands is not ours.
    arguments = [sys.executable, "-P", "-m", module, root, *more, *(["--sync"] if sync else [])]
    if hasattr(os, "posix_spawn"):
        nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
        try:
            os.posix_spawn(sys.executable, arguments, _environment(), file_actions=nothing, setsid=True)
        except (OSError, NotImplementedError):  # a C library without setsid; the next command does it
            return
        return
    import subprocess

    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    null = subprocess.DEVNULL
    subprocess.Popen(arguments, stdin=null, stdout=null, stderr=null, creationflags=flags, env=_environment())


def _environment() -> dict[str, str]:
    """Return the environment of a detached process: without what git sets for its hooks."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
