"""git's configuration: what git says of it, asked for once, and no change of it missed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gitkit import git, isolate, make_repository

from engram.adapters.git.run import configuration, process
from engram.adapters.git.run.configuration import settings, value

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    isolate(monkeypatch, tmp_path)
    return make_repository(tmp_path / "repo")


@pytest.fixture
def asked() -> Iterator[list[tuple[str, ...]]]:
    """The git commands that were run."""
    found: list[tuple[str, ...]] = []

    def listen(arguments: tuple[str, ...], code: int, seconds: float) -> None:
        found.append(arguments)

    process.listeners.append(listen)
    yield found
    process.listeners.remove(listen)


def grow_old(*files: Path) -> None:
    """Pass the time after which a file counts as left alone."""
    until = max(max(at.st_mtime_ns, at.st_ctime_ns) for at in (file.stat() for file in files))
    while time.time_ns() <= until + 2 * configuration.RACY_NS:
        pass


def config(repo: Repository) -> Path:
    return Path(repo.common_dir, "config")


def test_settings_equal_those_that_git_lists(repo: Repository) -> None:
    git(repo, "config", "Remote.One.URL", "a place")
    git(repo, "config", "--add", "remote.One.url", "another\nline")
    git(repo, "config", "user.name", "Here")
    said = git(repo, "config", "--list", "-z").split("\0")[:-1]
    assert [f"{key}\n{text}" for key, text, _ in settings(repo)] == said
    assert value(repo, "remote.One.url") == "another\nline"
    assert value(repo, "user.name") == "Here"
    assert value(repo, "user.shoe") == ""


def test_git_runs_once_while_nothing_changes(repo: Repository, asked: list[tuple[str, ...]]) -> None:
    grow_old(config(repo), Path(os.environ["GIT_CONFIG_GLOBAL"]))
    first = settings(repo)
    assert all(settings(repo) == first for _ in range(20))
    assert len(asked) == 1


def test_a_change_is_noticed_at_once(repo: Repository) -> None:
    grow_old(config(repo))
    for number in range(30):
        git(repo, "config", "engram.number", f"{number:02}")  # as long as the one before
        assert value(repo, "engram.number") == f"{number:02}"
        config(repo).write_text(config(repo).read_text().replace(f"= {number:02}", f"= {number + 50}"))
        assert value(repo, "engram.number") == f"{number + 50}"


def test_a_new_user_configuration_file_is_noticed(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    monkeypatch.setenv("HOME", str(tmp_path / "someone"))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    grow_old(config(repo))
    assert value(repo, "user.name") == ""
    for file in (tmp_path / "someone/.config/git/config", tmp_path / "someone/.gitconfig"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"[user]\n\tname = {file.name}\n")
        assert value(repo, "user.name") == file.name
        grow_old(file)
        assert value(repo, "user.name") == file.name


def test_an_included_file_counts_and_is_watched(repo: Repository, tmp_path: Path) -> None:
    included = tmp_path / "included"
    included.write_text("[user]\n\tname = First\n")
    git(repo, "config", "include.path", str(included))
    grow_old(config(repo), included)
    assert value(repo, "user.name") == "First"
    included.write_text("[user]\n\tname = Later\n")
    assert value(repo, "user.name") == "Later"


def test_a_configuration_that_git_cannot_read_has_no_settings(repo: Repository) -> None:
    before = config(repo).read_text()
    config(repo).write_text(before + "[broken\n")
    assert settings(repo) == ()
    config(repo).write_text(before)
    assert value(repo, "core.bare") == "false"


def test_each_work_tree_has_its_own_settings(repo: Repository, tmp_path: Path) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    git(repo, "config", "extensions.worktreeConfig", "true")
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    git(tmp_path / "other", "config", "--worktree", "user.name", "Other")
    assert value(str(tmp_path / "other"), "user.name") == "Other"
    assert value(repo, "user.name") == "Pat Person"
