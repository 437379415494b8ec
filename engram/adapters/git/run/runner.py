"""Run one git command in a repository: no filters, no prompts, errors that a person can act on."""

from __future__ import annotations

import contextlib
import sys

from engram.adapters.git.run import failures, process
from engram.adapters.git.run.process import DEADLINE, Result, batch_mode, safe_environment
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

    from engram.adapters.git.run.layout import Repository

MAX_OUTPUT = 64 * 1024 * 1024  # bytes, the list of some 400,000 files
MAX_MEMORY = 1024 * 1024 * 1024
_CHUNK = 1024 * 1024
# These read files of the work tree, if only to see whether the index is up to date.
WORK_TREE_COMMANDS = frozenset(("read-tree", "status", "update-index"))
NETWORK_COMMANDS = frozenset(("clone", "fetch", "ls-remote", "pull", "push"))


def run(
    where: Repository | str,
    *args: str,
    stdin: bytes | None = None,
    deadline: float = DEADLINE,
    check: bool = True,
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run `git args` at a work tree's root (or in a folder) and wait at most `deadline` seconds.

    `env` adds to the safe environment. Raises `GitError` if git or the folder is missing, the deadline passes, or (with
    `check`) the exit code is not 0.
    """
    folder = where if isinstance(where, str) else where.worktree
    command = failures.subcommand(args)
    if command in WORK_TREE_COMMANDS:
        from engram.adapters.git.run.configuration import without_filters

        args = (*without_filters(folder), *args)
    env = add_ssh_variables(folder, args, env or {})
    result = process.run(folder, *args, stdin=stdin, deadline=deadline, env=env)
    if check and result.code != 0:
        raise failures.failure(folder, args, result.code, result.stderr)
    return result


def add_ssh_variables(folder: str, args: tuple[str, ...], env: Mapping[str, str]) -> Mapping[str, str]:
    """Return `env`, with the ssh variables if the command talks to a remote."""
    return {**_ssh_variables(folder, env), **env} if failures.subcommand(args) in NETWORK_COMMANDS else env


def _ssh_variables(folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that keeps ssh from prompting, unless the environment already names an ssh program."""
    given = {*safe_environment(), *env}
    if "GIT_SSH_COMMAND" in given or "GIT_SSH" in given:
        return {}
    # GIT_SSH_COMMAND overrides a person's core.sshCommand, so it is built from that.
    from engram.adapters.git.run.configuration import value

    return {"GIT_SSH_COMMAND": batch_mode(value(folder, "core.sshcommand").strip() or "ssh")}


def run_limited(
    repo: Repository, *args: str, deadline: float, most: int = MAX_OUTPUT, memory: int = MAX_MEMORY
) -> bytes:
    """Return the output of `git args` for objects that a remote made: a few of them can expand to billions of files.

    Raises `GitError`, also for more than `most` bytes of output, and, if the system can limit it, when git takes more
    than `memory` bytes.
    """
    import threading

    git = process.start(repo.worktree, args, False, safe_environment())
    _limit_memory(git, memory)
    timer = threading.Timer(deadline, process.stop, (git,))
    timer.start()
    with git:
        try:
            output, errors = _read_output(git, most)
        except BaseException:
            process.stop(git)
            raise
        finally:
            is_late = not timer.is_alive()
            timer.cancel()
    if is_late:
        raise limit_error(args, f"git {args[0]} was stopped at its time limit of {deadline:g} s")
    if git.returncode < 0:
        raise limit_error(args, "The folders of a commit are nested too deeply to be listed")
    if git.returncode:
        raise failures.failure(repo.worktree, args, git.returncode, errors)
    return output


def _read_output(git: subprocess.Popen[bytes], most: int) -> tuple[bytes, str]:
    assert git.stdout is not None
    assert git.stderr is not None
    parts: list[bytes] = []
    while part := git.stdout.read(_CHUNK):
        parts.append(part)
        if len(parts) * _CHUNK > most:
            raise limit_error((), "A commit holds more files than Engram takes")
    errors = git.stderr.read().decode("utf-8", "replace")
    git.wait()
    return b"".join(parts), errors


def _limit_memory(git: subprocess.Popen[bytes], most: int) -> None:
    """Limit git's memory if the system can: some commands collect all output before they print."""
    if sys.platform == "linux":  # no other system can limit another process
        with contextlib.suppress(ImportError, OSError, ValueError):
            import resource

            resource.prlimit(git.pid, resource.RLIMIT_DATA, (most, most))


def can_limit_memory() -> bool:
    """Return whether `run_limited` can limit the memory of git."""
    return sys.platform == "linux"


def limit_error(args: tuple[str, ...], what: str) -> GitError:
    """Return the error for a command that exceeded a limit; `what` is the sentence without its full stop."""
    hint = "Look at it with git: `git ls-tree` goes folder by folder."
    return GitError(f"{what}.", hint, command=" ".join(args), stderr=what)
