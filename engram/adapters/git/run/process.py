"""Run one git process: safe environment, own process group, a deadline.

Callers use `engram.adapters.git.run.runner`, which adds what depends on the repository's configuration; that is
itself read through this module.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from contextlib import suppress

from engram.adapters.git.run import failures
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any

# The environment of git: no prompts, no hooks, and none of another git's variables.
#
# Engram is often started from inside git (an agent's hook during a commit or a rebase), which exports
# GIT_DIR, GIT_INDEX_FILE and more: inherited, they would redirect every command to the wrong repository.

# Set by a person for all of git, not by a running git for its children.
INHERITED = frozenset(
    (
        "GIT_EXEC_PATH",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_PROXY_COMMAND",
        "GIT_PROXY_SSL_CAINFO",
        "GIT_SSH",
        "GIT_SSH_VARIANT",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
        "GIT_SSL_CERT",
        "GIT_SSL_KEY",
    )
)
PROTOCOLS = ("file", "git", "http", "https", "ssh")
FIXED_VARIABLES = {
    "LC_ALL": "C",  # errors are recognised by their English words
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # empty also hides core.askPass and SSH_ASKPASS
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",  # a file named `:(top)*` is just a file
}
SETTINGS = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.longpaths=true",  # Windows needs it for paths of over 260 characters
    "color.ui=false",
    "credential.interactive=false",
    "fetch.fsckObjects=true",
    "receive.fsckObjects=true",
)
# An acknowledged commit must survive a power cut; by default git does not fsync loose objects.
DURABLE = ("-c", "core.fsync=committed,reference", "-c", "core.fsyncMethod=fsync")
SSH_OPTIONS = "-oBatchMode=yes -oConnectTimeout=10"


def safe_environment() -> dict[str, str]:
    """Return this process's environment without inherited GIT_* state, made non-interactive."""
    inherited = dict(os.environ)
    clean = {key: text for key, text in inherited.items() if not key.startswith("GIT_") or key in INHERITED}
    clean.pop("LANGUAGE", None)
    clean.update(FIXED_VARIABLES)
    clean["GIT_ALLOW_PROTOCOL"] = _protocols(inherited.get("GIT_ALLOW_PROTOCOL"))
    if "GIT_SSH_COMMAND" in inherited:
        clean["GIT_SSH_COMMAND"] = batch_mode(inherited["GIT_SSH_COMMAND"])
    return clean


def batch_mode(ssh_command: str) -> str:
    """Return the ssh command with options against prompts; any other program is returned unchanged."""
    program = os.path.basename(ssh_command.split(" ", 1)[0].strip("'\""))
    return f"{ssh_command} {SSH_OPTIONS}" if program in ("ssh", "ssh.exe") else ssh_command


def _protocols(inherited: str | None) -> str:
    # A person may allow fewer protocols than Engram, not more: `ext::` runs any command.
    allowed = PROTOCOLS if inherited is None else inherited.split(":")
    return ":".join(name for name in PROTOCOLS if name in allowed)


DEADLINE = 30.0  # seconds
GRACE = 2.0  # seconds between asking git to stop, so that it removes its lock files, and killing it
# Called after every command, with its arguments, exit code and duration in seconds.
listeners: list[Callable[[tuple[str, ...], int, float], None]] = []


class Result(NamedTuple):
    """The result of a command: exit code, raw output, error text, which may have credentials."""

    code: int
    stdout: bytes
    stderr: str


def run(
    folder: str,
    *args: str,
    stdin: bytes | None = None,
    deadline: float = DEADLINE,
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run `git args` in `folder` and wait at most `deadline` seconds.

    `env` adds to the safe environment. Raises `GitError` if git or the folder is missing or the deadline passes; the
    caller checks the exit code.
    """
    began = time.monotonic() if listeners else 0.0
    result = _execute(folder, args, stdin, deadline, {**safe_environment(), **(env or {})})
    for listener in listeners:
        listener(args, result.code, time.monotonic() - began)
    return result


def _execute(
    folder: str,
    args: tuple[str, ...],
    stdin: bytes | None,
    deadline: float,
    variables: Mapping[str, str],
) -> Result:
    import subprocess

    process = None
    interrupts = DeferredInterrupt()
    try:
        process = start(folder, args, stdin is not None, variables)
        interrupts.release()
        stdout, stderr = process.communicate(stdin, timeout=deadline)
    except subprocess.TimeoutExpired:
        stop(process)
        raise timeout_error(args, deadline) from None
    except BaseException:
        stop(process)  # Ctrl-C does not reach git, which has a process group of its own
        raise
    finally:
        interrupts.release()
        close(process)
    return Result(process.returncode, stdout, stderr.decode("utf-8", "replace"))


def timeout_error(args: tuple[str, ...], deadline: float) -> GitError:
    """Return the error for a command that was stopped at its deadline, in seconds."""
    text = f"git {failures.subcommand(args)} was stopped at its time limit of {deadline:g} s"
    hint = "Try again; if it happens again, run the git command by hand to see what it waits for."
    return GitError(f"{text}.", hint, command=" ".join(args), stderr=text)


def start(
    folder: str, args: tuple[str, ...], has_input: bool, variables: Mapping[str, str], *, text: bool = False
) -> subprocess.Popen[Any]:
    """Start `git args` in `folder`, in a process group of its own; with `text`, its streams are text. Raises `GitError`."""
    import subprocess

    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    try:
        return subprocess.Popen(
            ["git", *settings, *args],
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            encoding="utf-8" if text else None,
            errors="replace" if text else None,
        )
    except OSError as error:
        if not os.path.isdir(folder):
            raise GitError(f"The folder {folder} does not exist.", "Check the path.") from error
        if isinstance(error, FileNotFoundError):
            raise GitError("The program git was not found.", "Install git, then try again.") from error
        raise GitError(f"The program git cannot be started: {error.strerror}.", "Check your PATH.") from error


def stop(process: subprocess.Popen[Any] | None) -> None:
    """End the process and its children; kill them after `GRACE` seconds."""
    import subprocess

    if process is None:
        return
    if sys.platform == "win32":  # which can end a process tree, but not a process group
        tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(
            tree, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    else:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(GRACE)
            except (ProcessLookupError, PermissionError):
                return
            except subprocess.TimeoutExpired:
                continue
            return


def close(process: subprocess.Popen[Any] | None) -> None:
    """Close the streams of a process that has ended."""
    if process is None:
        return
    process.poll()  # reap a stopped process
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):  # input that git has not read
                stream.close()


# Ctrl-C is deferred until a process that is being started can be stopped; else it would be left running.


class DeferredInterrupt:
    """Record Ctrl-C until `release`. Only the main thread receives it at all."""

    def __init__(self) -> None:
        """Replace the handler, if Python has one."""
        self._is_interrupted = False
        self._handler = None
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._record)

    def release(self) -> None:
        """Restore the handler and raise a recorded Ctrl-C; a no-op when called again."""
        handler, self._handler = self._handler, None
        if handler is None:
            return
        signal.signal(signal.SIGINT, handler)
        if self._is_interrupted:
            signal.raise_signal(signal.SIGINT)

    def _record(self, _number: int, _frame: FrameType | None) -> None:
        self._is_interrupted = True
