"""Processes that outlive the command that starts them."""

from __future__ import annotations

import contextlib
import os
import sys

OBSERVATIONS = "observations"  # the folder of pending observations in the private state
CONSENT = "sync-consent"  # the file of answers on automatic syncs in the private state


def start_detached(
    root: str, *more: str, sync: bool = False, module: str = "engram.cli.background_process"
) -> None:
    """Run `module` for the store at `root` in a process that outlives this one.

    `more` are further arguments, by default the session whose store is below `root`; `sync` makes it sync in any case.
    """
    # -P: do not import a folder `engram` in the working folder.
    arguments = [sys.executable, "-P", "-m", module, root, *more, *(["--sync"] if sync else [])]
    if sys.platform == "win32":
        import subprocess

        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        null = subprocess.DEVNULL
        subprocess.Popen(
            arguments, stdin=null, stdout=null, stderr=null, creationflags=flags, env=_environment()
        )
    else:
        null_streams = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
        # Fails with a C library without setsid; the next command does the work then.
        with contextlib.suppress(OSError, NotImplementedError):
            os.posix_spawn(sys.executable, arguments, _environment(), file_actions=null_streams, setsid=True)


def _environment() -> dict[str, str]:
    """Return the environment of a detached process, without the variables that git sets for hooks."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
