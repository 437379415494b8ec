"""Run one git command in a repository: no filters, no questions, errors a person can act on."""

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

MOST_BYTES = 64 * 1024 * 1024  # the list of some 400,000 files
MOST_MEMORY = 1024 * 1024 * 1024
_AT_ONCE = 1024 * 1024
# Commands that read files of the work tree, if only to see whether the index is up to date.
READS_WORK_TREE = frozenset(("read-tree", "status", "update-index"))
NETWORK = frozenset(("clone", "fetch", "ls-remote", "pull", "push"))


def run(
    where: Repository | str,
    *args: str,
    stdin: bytes | None = None,
    deadline: float = DEADLINE,
    check: bool = True,
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run `git args` at a work tree's root (or in a folder) and wait at most `deadline` seconds.

    `env` adds to the safe environment. Raises `GitError` where git is missing, the folder is gone, the deadline passes, or
    (with `check`) the exit code is not 0.
    """
    folder = where if isinstance(where, str) else where.worktree
    command = failures.subcommand(args)
    if command in READS_WORK_TREE:
        from engram.adapters.git.run.configuration import without_filters

        args = (*without_filters(folder), *args)
    env = variables_of(folder, args, env or {})
    result = process.run(folder, *args, stdin=stdin, deadline=deadline, env=env)
    if check and result.code != 0:
        raise failures.failure(folder, args, result.code, result.stderr)
    return result


def variables_of(folder: str, args: tuple[str, ...], env: Mapping[str, str]) -> Mapping[str, str]:
    """Return `env`, with what a command that talks to a remote needs."""
    return {**_ssh_variables(folder, env), **env} if failures.subcommand(args) in NETWORK else env


def _ssh_variables(folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that keeps ssh from asking questions, unless the environment names an ssh program already."""
    given = {*safe_environment(), *env}
    if "GIT_SSH_COMMAND" in given or "GIT_SSH" in given:
        return {}
    # GIT_SSH_COMMAND would hide a person's core.sshCommand, so it is built upon that.
    from engram.adapters.git.run.configuration import value

    return {"GIT_SSH_COMMAND": batch_mode(value(folder, "core.sshcommand").strip() or "ssh")}


def listing(
    repo: Repository, *args: str, deadline: float, most: int = MOST_BYTES, memory: int = MOST_MEMORY
) -> bytes:
    """Return what `git args` lists, for objects that a remote made: a few of them can stand for billions of files.

    Raises `GitError`, also for more than `most` bytes of output, and for a git that takes more than `memory` bytes where
    the system can limit that.
    """
    import threading

    git = process.start(repo.worktree, args, False, safe_environment())
    _limit_memory(git, memory)
    timer = threading.Timer(deadline, process.stop, (git,))
    timer.start()
    with git:
        try:
            output, errors = _read(git, most)
        except BaseException:
            process.stop(git)
            raise
        finally:
            is_late = not timer.is_alive()
            timer.cancel()
    if is_late:
        raise listing_error(args, f"git {args[0]} was stopped at its time limit of {deadline:g} s")
    if git.returncode < 0:
        raise listing_error(args, "The folders of a commit are nested too deeply to be listed")
    if git.returncode:
        raise failures.failure(repo.worktree, args, git.returncode, errors)
    return output


def _read(git: subprocess.Popen[bytes], most: int) -> tuple[bytes, str]:
    assert git.stdout is not None
    assert git.stderr is not None
    parts: list[bytes] = []
    while part := git.stdout.read(_AT_ONCE):
        parts.append(part)
        if len(parts) * _AT_ONCE > most:
            raise listing_error((), "A commit holds more files than Engram takes")
    errors = git.stderr.read().decode("utf-8", "replace")
    git.wait()
    return b"".join(parts), errors


def _limit_memory(git: subprocess.Popen[bytes], most: int) -> None:
    """Where the system can, let a git that collects before it prints end before it has taken everything."""
    if sys.platform == "linux":  # which alone has it
        with contextlib.suppress(ImportError, OSError, ValueError):
            import resource

            resource.prlimit(git.pid, resource.RLIMIT_DATA, (most, most))


def limits_memory() -> bool:
    """Return whether `listing` can stop a git that collects before it prints."""
    return sys.platform == "linux"


def listing_error(args: tuple[str, ...], what: str) -> GitError:
    """Return the error for a list that is too long to be looked at, or cannot be made."""
    hint = "Look at it with git: `git ls-tree` goes folder by folder."
    return GitError(f"{what}.", hint, command=" ".join(args), stderr=what)
