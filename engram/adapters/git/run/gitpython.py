"""GitPython in the environment in which Engram runs git: safe variables, a process group of its own, a deadline.

To import this module costs some 40 CPU-ms, so it is imported inside the functions that need it, never by a hook, a query,
a record, or a sync whose progress nobody sees. What GitPython itself would do differently, and cannot be told not to: it
hands its children every `GIT_*` variable that it inherited; at a time limit it kills git and git's own children one by one,
which leaves lock files and whatever those had started.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from engram.adapters.git.run import failures, process
from engram.adapters.git.run.process import DEADLINE
from engram.adapters.git.run.runner import variables_of
from engram.domain.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def _without_git() -> Iterator[None]:
    """Let GitPython be imported where there is no git: its absence is reported by the first command, as a GitError."""
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


with _without_git():
    import git
from git.exc import GitCommandError  # noqa: E402 - after `git`, whose import looks for the program

__all__ = ["GitCommandError", "SafeGit", "SafeRepo", "failure", "git", "open_repository"]


class SafeGit(git.Git):
    """Git commands as `engram.adapters.git.run.runner` runs them."""

    def execute(self, command: Any, *_: Any, **options: Any) -> Any:
        """Run a command that GitPython put together, without the name of the program. Raises GitError, GitCommandError."""
        args = tuple(str(word) for word in command[1:])
        folder = str(self.working_dir or os.getcwd())
        done = process.run(folder, *args, deadline=DEADLINE, env=variables_of(folder, args, {}))
        text = done.stdout.decode("utf-8", "replace").removesuffix("\n")
        if done.code and options.get("with_exceptions", True):
            raise GitCommandError(list(command), done.code, failures.without_credentials(done.stderr))
        return (done.code, text, done.stderr) if options.get("with_extended_output") else text


class SafeRepo(git.Repo):
    """A repository whose commands are run by `SafeGit`."""

    GitCommandWrapperType = SafeGit


def open_repository(folder: str) -> SafeRepo:
    """Open the repository of a folder; to be closed by its `close`, or as a context. Raises GitError."""
    try:
        repository = SafeRepo(folder, expand_vars=False)
    except git.InvalidGitRepositoryError:
        raise failures.failure(folder, ("open",), 128, "fatal: not a git repository") from None
    except git.NoSuchPathError:
        raise GitError(f"The folder {folder} does not exist.", "Check the path.") from None
    # GitPython takes the relative `core.worktree` in a submodule's git folder as relative to the process's folder.
    repository.git = SafeGit(folder)
    return repository


def failure(folder: str, error: GitCommandError) -> GitError:
    """Return the error of a command that GitPython ran in `folder`."""
    words, code = tuple(map(str, error.command))[1:], error.status if isinstance(error.status, int) else 1
    return failures.failure(folder, words, code, error.stderr)
