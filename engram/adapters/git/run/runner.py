"""Run one git command: safe environment, own process group, a deadline, errors a person can act on."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from contextlib import suppress

from engram.adapters.git.run import environment, failures
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping

    from engram.adapters.git.run.layout import Repository
    from engram.adapters.git.run.transfer import Tell

DEADLINE = 30.0  # seconds
GRACE = 2.0  # seconds between asking git to stop, so that it removes its lock files, and killing it
MOST_BYTES = 64 * 1024 * 1024  # the list of some 400,000 files
MOST_MEMORY = 1024 * 1024 * 1024
_AT_ONCE = 1024 * 1024
# These look into files of the work tree, be it only to see whether the index is up to date.
LOOKING = frozenset(("read-tree", "status", "update-index"))
# Told of every command that ended: its arguments, exit code and how long it took in seconds.
listeners: list[Callable[[tuple[str, ...], int, float], None]] = []
NETWORK = frozenset(("clone", "fetch", "ls-remote", "pull", "push"))


class Result(NamedTuple):
    """How a command ended: exit code, raw output, error text with credentials still in it."""

    code: int
    stdout: bytes
    stderr: str


def run(
    where: Repository | str,
    *args: str,
    stdin: bytes | None = None,
    deadline: float = DEADLINE,
    check: bool = True,
    env: Mapping[str, str] | None = None,
    tell: Tell | None = None,
) -> Result:
    """Run `git args` at a work tree's root (or in a folder) and wait at most `deadline` seconds.

    `env` adds to the safe environment. `tell` hears how far a command that was given `--progress` and no input
    is, and what it raises ends the command; the error text is then without that. Raises `GitError` where git is
    missing, the folder is gone, the deadline passes, or (with `check`) the exit code is not 0.
    """
    folder = where if isinstance(where, str) else where.worktree
    if failures.subcommand(args) in LOOKING:
        from engram.adapters.git.run.filters import without_filters

        args = (*without_filters(folder), *args)
    variables = {**environment.safe_environment(), **(env or {})}
    if (
        failures.subcommand(args) in NETWORK
        and "GIT_SSH_COMMAND" not in variables
        and "GIT_SSH" not in variables
    ):
        variables["GIT_SSH_COMMAND"] = _ssh_command(folder)
    began = time.monotonic() if listeners else 0.0
    result = _execute(folder, args, stdin, deadline, variables, tell)
    for listener in listeners:
        listener(args, result.code, time.monotonic() - began)
    if check and result.code != 0:
        raise failures.failure(folder, args, result.code, result.stderr)
    return result


def listing(
    repo: Repository, *args: str, deadline: float, most: int = MOST_BYTES, memory: int = MOST_MEMORY
) -> bytes:
    """What a `git args` that lists something prints. Raises `GitError`, also where that is more than `most` bytes.

    So does a git that takes more than `memory` bytes, where the system can say so to it.

    For what a remote has made: a few objects can stand for billions of files.
    """
    import threading

    process = _start(repo.worktree, args, False, environment.safe_environment())
    _limit_memory(process, memory)
    timer = threading.Timer(deadline, _stop, (process,))
    timer.start()
    with process:
        try:
            said = _read(process, most)
        except BaseException:
            _stop(process)
            raise
        finally:
            is_late = not timer.is_alive()
            timer.cancel()
    if is_late:
        raise unlisted(args, f"git {args[0]} was stopped at its time limit of {deadline:g} s")
    if process.returncode < 0:
        raise unlisted(args, "The folders of a commit are nested too deeply to be listed")
    if process.returncode:
        raise failures.failure(repo.worktree, args, process.returncode, said[1])
    return said[0]


def _read(process: subprocess.Popen[bytes], most: int) -> tuple[bytes, str]:
    assert process.stdout is not None
    assert process.stderr is not None
    parts: list[bytes] = []
    while part := process.stdout.read(_AT_ONCE):
        parts.append(part)
        if len(parts) * _AT_ONCE > most:
            raise unlisted((), "A commit holds more files than Engram takes")
    errors = process.stderr.read().decode("utf-8", "replace")
    process.wait()
    return b"".join(parts), errors


def _limit_memory(process: subprocess.Popen[bytes], most: int) -> None:
    """Where the system can, let a git that collects before it prints end before it has taken everything."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):  # Linux alone has it
        import resource

        resource.prlimit(process.pid, resource.RLIMIT_DATA, (most, most))


def limits_memory() -> bool:
    """Whether `listing` can stop a git that collects before it prints."""
    return sys.platform == "linux"


def unlisted(args: tuple[str, ...], what: str) -> GitError:
    """The error for a list that is too long to be looked at, or cannot be made."""
    hint = "Look at it with git: `git ls-tree` goes folder by folder."
    return GitError(f"{what}.", hint, command=" ".join(args), stderr=what)


def _ssh_command(folder: str) -> str:
    # GIT_SSH_COMMAND would hide a person's core.sshCommand, so it is built upon that.
    from engram.adapters.git.run.configuration import value

    return environment.batch_mode(value(folder, "core.sshcommand").strip() or "ssh")


def _execute(
    folder: str,
    args: tuple[str, ...],
    stdin: bytes | None,
    deadline: float,
    variables: Mapping[str, str],
    tell: Tell | None,
) -> Result:
    import subprocess

    from engram.adapters.git.run.interrupts import HeldBack

    process = None
    interrupts = HeldBack()
    try:
        process = _start(folder, args, stdin is not None, variables)
        interrupts.release()
        if tell is None:
            stdout, stderr = process.communicate(stdin, timeout=deadline)
        else:
            from engram.adapters.git.run.transfer import listen

            stdout, stderr = listen(process, deadline, tell)
    except subprocess.TimeoutExpired:
        _stop(process)
        text = f"git {failures.subcommand(args)} was stopped at its time limit of {deadline:g} s"
        hint = "Try again; if it happens again, run the git command by hand to see what it waits for."
        raise GitError(f"{text}.", hint, command=" ".join(args), stderr=text) from None
    except BaseException:
        _stop(process)  # Ctrl-C does not reach git: it is in a process group of its own
        raise
    finally:
        interrupts.release()
        _close(process)
    return Result(process.returncode, stdout, stderr.decode("utf-8", "replace"))


def _start(
    folder: str, args: tuple[str, ...], has_input: bool, variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
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


def _stop(process: subprocess.Popen[bytes] | None) -> None:
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
