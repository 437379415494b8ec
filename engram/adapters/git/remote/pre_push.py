"""Run the repository's own pre-push hook if the user has enabled it; all other git commands run without hooks."""

from __future__ import annotations

import os

from engram.adapters.git.run import configuration, failures
from engram.adapters.git.run.process import safe_environment, stop
from engram.adapters.git.write import lore_branch
from engram.domain.errors import SyncBlockedError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.remote.remotes import Counterpart
    from engram.adapters.git.run.layout import Repository

_NAME = "pre-push"
_MAX_OUTPUT = 500  # characters of a hook's output


def find_hook(repo: Repository) -> str | None:
    """Return the path of the hook, which respects `core.hooksPath`; None if there is no executable one."""
    folder = configuration.value(repo, "core.hookspath")
    top = lore_branch.top_of(repo)
    folder = os.path.expanduser(folder) if folder else os.path.join(repo.common_dir, "hooks")
    path = os.path.join(top, folder, _NAME)
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else None


def run_hook(
    hook: str, repo: Repository, other: Counterpart, known: str | None, commit: str, deadline: float
) -> None:
    """Run the hook as git does before it pushes `commit` over `known`. Raises SyncBlockedError if it declines."""
    import subprocess

    ref, no_oid = f"refs/heads/{other.branch}", "0" * len(commit)
    line = f"{ref} {commit} {ref} {known or no_oid}\n"
    url = (
        configuration.value(repo, f"remote.{other.remote}.pushurl")
        or configuration.value(repo, f"remote.{other.remote}.url")
        or other.remote
    )
    try:
        process = subprocess.Popen(
            [hook, other.remote, url],
            cwd=lore_branch.top_of(repo),
            env=safe_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise SyncBlockedError(
            f"The repository's {_NAME} hook cannot be started: {error.strerror}; nothing was pushed.",
            _hint(hook),
        ) from None
    try:
        output, _ = process.communicate(line.encode(), timeout=deadline)
    except subprocess.TimeoutExpired:
        stop(process)
        raise SyncBlockedError(
            f"The repository's {_NAME} hook was stopped at its time limit of {deadline:g} s; nothing was pushed.",
            _hint(hook),
        ) from None
    except BaseException:
        stop(process)
        raise
    if process.returncode:
        text = failures.without_credentials(" ".join(output.decode("utf-8", "replace").split())[:_MAX_OUTPUT])
        raise SyncBlockedError(
            f"The repository's {_NAME} hook declined the push{f': {text}' if text else '.'}", _hint(hook)
        )


def _hint(hook: str) -> str:
    return f"See {hook}, then sync again; `engram config sync.hooks false --user` passes it by."
