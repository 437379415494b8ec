"""Run GitPython's commands as Engram runs git: with a safe environment, a process group of their own and a deadline.

Importing this module costs some 40 ms of CPU time, so only functions that need it do, never those of a hook, a query, a
record, or a sync whose progress nobody sees. GitPython itself would pass every inherited `GIT_*` variable on to git, and
at a time limit it would kill git and its children one by one, which leaves lock files and grandchildren behind.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from engram.adapters.git.run import failures, process
from engram.adapters.git.run.process import DEADLINE
from engram.adapters.git.run.runner import add_ssh_variables
from engram.domain.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def _allow_missing_git() -> Iterator[None]:
    """Allow importing GitPython without git; the first command then raises a GitError."""
    name = "GIT_PYTHON_REFRESH"
    before = os.environ.get(name)
    os.environ[name] = "quiet"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


with _allow_missing_git():
    import git
from git.exc import GitCommandError  # noqa: E402 - after `git`, whose import searches for the program

__all__ = ["GitCommandError", "SafeGit", "SafeRepo", "failure", "git", "open_repository"]


class SafeGit(git.Git):
    """Git commands as `engram.adapters.git.run.runner` runs them."""

    def execute(self, command: Any, *_: Any, **options: Any) -> Any:
        """Run a command that GitPython has assembled. Raises GitError, GitCommandError."""
        args = tuple(str(word) for word in command[1:])
        folder = str(self.working_dir or os.getcwd())
        result = process.run(folder, *args, deadline=DEADLINE, env=add_ssh_variables(folder, args, {}))
        text = result.stdout.decode("utf-8", "replace").removesuffix("\n")
        if result.code and options.get("with_exceptions", True):
            raise GitCommandError(list(command), result.code, failures.without_credentials(result.stderr))
        return (result.code, text, result.stderr) if options.get("with_extended_output") else text


class SafeRepo(git.Repo):
    """A repository whose commands `SafeGit` runs."""

    GitCommandWrapperType = SafeGit


def open_repository(folder: str) -> SafeRepo:
    """Open the repository of a folder; close it with `close`, or use it in a `with` statement. Raises GitError."""
    try:
        repository = SafeRepo(folder, expand_vars=False)
    except git.InvalidGitRepositoryError:
        raise failures.failure(folder, ("open",), 128, "fatal: not a git repository") from None
    except git.NoSuchPathError:
        raise GitError(f"The folder {folder} does not exist.", "Check the path.") from None
    # GitPython resolves the relative `core.worktree` of a submodule from the process's working folder.
    repository.git = SafeGit(folder)
    return repository


def failure(folder: str, error: GitCommandError) -> GitError:
    """Return the GitError for a command that GitPython ran in `folder`."""
    words, code = tuple(map(str, error.command))[1:], error.status if isinstance(error.status, int) else 1
    return failures.failure(folder, words, code, error.stderr)
