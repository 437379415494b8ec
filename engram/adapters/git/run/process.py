"""One git process: safe environment, own process group, a deadline.

`engram.adapters.git.run.runner` is what callers use. It adds what depends on the repository's configuration, which is
itself read through this module.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from engram.adapters.git.run import environment, failures
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping

    from engram.adapters.git.run.transfer import Report

DEADLINE = 30.0  # seconds
GRACE = 2.0  # seconds between asking git to stop, so that it removes its lock files, and killing it
# Called for every command that ended, with its arguments, exit code and duration in seconds.
listeners: list[Callable[[tuple[str, ...], int, float], None]] = []


class Result(NamedTuple):
    """How a command ended: exit code, raw output, error text with credentials still in it."""

    code: int
    stdout: bytes
    stderr: str


def run(
    folder: str,
    *args: str,
    stdin: bytes | None = None,
    deadline: float = DEADLINE,
    env: Mapping[str, str] | None = None,
    report: Report | None = None,
) -> Result:
    """Run `git args` in `folder` and wait at most `deadline` seconds.

    `env` adds to the safe environment, `report` receives the progress of a transfer. Raises `GitError` where git is
    missing, the folder is gone or the deadline passes; the exit code is the caller's to check.
    """
    began = time.monotonic() if listeners else 0.0
    result = _execute(
        folder, args, stdin, deadline, {**environment.safe_environment(), **(env or {})}, report
    )
    for listener in listeners:
        listener(args, result.code, time.monotonic() - began)
    return result


def _execute(
    folder: str,
    args: tuple[str, ...],
    stdin: bytes | None,
    deadline: float,
    variables: Mapping[str, str],
    report: Report | None,
) -> Result:
    import subprocess

    from engram.adapters.git.run.interrupts import DeferredInterrupt

    process = None
    interrupts = DeferredInterrupt()
    try:
        process = start(folder, args, stdin is not None, variables)
        interrupts.release()
        if report is None:
            stdout, stderr = process.communicate(stdin, timeout=deadline)
        else:
            from engram.adapters.git.run.transfer import listen

            stdout, stderr = listen(process, deadline, report)
    except subprocess.TimeoutExpired:
        stop(process)
        text = f"git {failures.subcommand(args)} was stopped at its time limit of {deadline:g} s"
        hint = "Try again; if it happens again, run the git command by hand to see what it waits for."
        raise GitError(f"{text}.", hint, command=" ".join(args), stderr=text) from None
    except BaseException:
        stop(process)  # Ctrl-C does not reach git: it is in a process group of its own
        raise
    finally:
        interrupts.release()
        _close(process)
    return Result(process.returncode, stdout, stderr.decode("utf-8", "replace"))


def start(
    folder: str, args: tuple[str, ...], has_input: bool, variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start `git args` in `folder`, in a process group of its own. Raises `GitError`."""
    import subprocess

    settings = [word for setting in environment.SETTINGS for word in ("-c", setting)]
    try:
        return subprocess.Popen(
            ["git", *settings, *args],
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        if not os.path.isdir(folder):
            raise GitError(f"The folder {folder} does not exist.", "Check the path.") from error
        if isinstance(error, FileNotFoundError):
            raise GitError("The program git was not found.", "Install git, then try again.") from error
        raise GitError(f"The program git cannot be started: {error.strerror}.", "Check your PATH.") from error


def stop(process: subprocess.Popen[bytes] | None) -> None:
    """End the process and its children; kill them after `GRACE` seconds."""
    import signal
    import subprocess

    if process is None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE)
        except (ProcessLookupError, PermissionError):
            return
        except subprocess.TimeoutExpired:
            continue
        return


def _close(process: subprocess.Popen[bytes] | None) -> None:
    if process is None:
        return
    process.poll()  # one that was stopped is not left as a zombie
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):  # what git did not want to read
                stream.close()
