"""Real git repositories for tests, in tmp_path, with a configuration of their own and no home folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from engram.adapters.git.run.layout import Repository, find_repository
from engram.adapters.git.write.commits import Commit, FileChange

if TYPE_CHECKING:
    import pytest

MOMENT = 1_760_000_000
AUTHOR = "Ada Author <ada@example.org>"


def isolate(monkeypatch: pytest.MonkeyPatch, folder: Path, config: str = "") -> Path:
    """Have every git of this test, also the adapter's, read only the global configuration made here."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    file = folder / "gitconfig"
    file.write_text("[user]\n\tname = Pat Person\n\temail = pat@example.org\n" + config)
    empty = folder / "no-home"
    empty.mkdir(exist_ok=True)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("HOME", str(empty))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(empty))
    return file


def git(where: Path | str | Repository, *args: str, check: bool = True, stdin: bytes | None = None) -> str:
    """Run git as a user would, not through the adapter; return its output without the last newline."""
    folder = where.worktree if isinstance(where, Repository) else str(where)
    done = subprocess.run(["git", *args], cwd=folder, input=stdin, capture_output=True, check=False)
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(args)}: {done.stderr.decode()}")
    return os.fsdecode(done.stdout).rstrip("\n")


def make_repository(folder: Path, *options: str) -> Repository:
    """Make a repository with a branch `main` without commits."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "-c", "init.defaultBranch=main", "init", "-q", *options)
    return open_repository(folder)


def open_repository(folder: Path) -> Repository:
    """Open the repository at `folder`, which must be one."""
    repo = find_repository(str(folder))
    assert repo is not None
    return repo


def write(repo: Repository, path: str, content: bytes | str) -> None:
    """Write a file in the work tree, and make its folders."""
    file = Path(repo.worktree, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def person_commits(repo: Repository, files: dict[str, str], message: str = "by hand") -> str:
    """Write, add and commit files as a user does; return the new commit's id."""
    for path, content in files.items():
        write(repo, path, content)
    git(repo, "add", "--", *files)
    git(repo, "commit", "-q", "-m", message)
    return git(repo, "rev-parse", "HEAD")


def repository_of(folder: Path, files: dict[str, str]) -> Repository:
    """Make a repository in which a user committed these files."""
    made = make_repository(folder)
    person_commits(made, files)
    return made


def change(message: str, *changes: tuple[str, bytes | None], author: str | None = AUTHOR) -> Commit:
    """Commit these (path, content) pairs at a fixed time."""
    return Commit(message, tuple(FileChange(*pair) for pair in changes), author, MOMENT)


LORE = "lore/new.md"
# A new entry, a changed one and a deleted one, if these files exist.
CODE_AND_LORE = {"code.py": "1\n", "other.py": "1\n", "lore/old.md": "old\n", "lore/gone.md": "x\n"}
WORK = change("work", (LORE, b"new\n"), ("lore/old.md", b"changed\n"), ("lore/gone.md", None))


def apply(repo: Repository, *commits: Commit) -> None:
    """Apply the changes of commits to the work tree, as Engram does before it commits."""
    for commit in commits:
        for path, content, _ in commit.changes:
            if content is None:
                Path(repo.worktree, path).unlink()
            else:
                write(repo, path, content)


def state_folder(repo: Repository) -> str:
    """Return the folder of the adapter's private state."""
    return os.path.join(repo.common_dir, "engram")


def status(repo: Repository) -> str:
    """Return `git status` in short form; "" if everything is committed."""
    return git(repo, "status", "--porcelain", "-uall")


def assert_sound(repo: Repository) -> None:
    """Check that git finds no errors in objects and refs."""
    assert git(repo, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
