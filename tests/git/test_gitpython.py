"""GitPython's commands have Engram's environment, end with their children, and leave nothing behind in a repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gitkit import git, make_repository, person_commits
from remote_kit import allow_loopback
from sync_kit import bare, executable

from engram.adapters.git.remote import remotes
from engram.adapters.git.remote.remotes import Counterpart
from engram.adapters.git.run.gitpython import open_repository
from engram.domain.errors import GitError, RemoteError, UsageError

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

MAIN = Counterpart("origin", "main")


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with one commit and an empty remote."""
    made = make_repository(tmp_path / "work")
    person_commits(made, {"README.md": "Lore of ours.\n"})
    git(made, "remote", "add", "origin", str(bare(tmp_path / "hub.git")))
    return made


def head(repo: Repository) -> str:
    return git(repo, "rev-parse", "HEAD")


def everything(repo: Repository) -> list[str]:
    return [path.name for path in Path(repo.git_dir).rglob("*_HEAD")] + git(repo, "for-each-ref").splitlines()


def test_a_push_and_a_fetch_leave_the_persons_references_as_they_were(repo: Repository) -> None:
    remotes.push(repo, MAIN, head(repo))
    before = everything(repo)
    assert remotes.fetch(repo, MAIN) == head(repo)
    assert everything(repo) == before
    assert not any("FETCH_HEAD" in line for line in before)


def test_a_branch_that_moved_on_is_neither_overwritten_nor_deleted(
    repo: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    first, there = head(repo), Counterpart("origin", f"{remotes.PROPOSALS}one")
    person_commits(repo, {"README.md": "Lore of all.\n"})
    remotes.push(repo, there, head(repo))
    for attempt in (lambda: remotes.push(repo, there, first), lambda: remotes.delete(repo, there, first)):
        with pytest.raises(RemoteError) as found:
            attempt()
        assert found.value.kind == "rejected"
    assert git(repo, "ls-remote", "origin").split()[0] == head(repo)
    remotes.delete(repo, there, head(repo))
    assert git(repo, "ls-remote", "origin") == ""
    assert caplog.text == ""  # what git says of an address may hold a password


def test_inherited_git_variables_do_not_redirect_a_command(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, here = make_repository(tmp_path / "other"), head(repo)
    monkeypatch.setenv("GIT_DIR", other.git_dir)
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    with open_repository(repo.worktree) as opened:
        assert opened.git.rev_parse("HEAD") == here
    remotes.push(repo, MAIN, here)


def test_the_git_folder_of_a_submodule_is_opened_from_any_folder(repo: Repository, tmp_path: Path) -> None:
    outer = make_repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repo.worktree, "inner")
    with open_repository(f"{outer.common_dir}/modules/inner") as opened:
        assert opened.git.rev_parse("HEAD") == head(repo)


def test_hooks_of_a_repository_are_not_run_by_a_push(repo: Repository, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    executable(Path(repo.git_dir) / "hooks/pre-push", f"#!/bin/sh\ntouch {mark}\nexit 1\n")
    remotes.push(repo, MAIN, head(repo))
    assert not mark.exists()


def test_child_processes_of_git_end_at_the_deadline(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of the person's that does not answer, and a child of that which keeps its streams open."""
    allow_loopback(monkeypatch)
    alive, release = tmp_path / "alive", tmp_path / "release"
    os.mkfifo(alive)
    os.mkfifo(release)
    executable(tmp_path / "ssh.sh", f"#!/bin/sh\nexec 3>{alive}\n(echo started >&3; cat {release}) &\nwait\n")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh.sh"))
    git(repo, "remote", "set-url", "origin", "ssh://127.0.0.1/lore.git")
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(RemoteError) as found:
            remotes.fetch(repo, MAIN, deadline=1.0, report=lambda _: None)
        assert found.value.kind == "timeout"
        os.set_blocking(reader, True)
        assert os.read(reader, 100) == b"started\n"
        assert os.read(reader, 100) == b"", "the end comes when nobody has the other end open any more"
    finally:
        os.close(reader)


def test_opening_a_folder_without_a_repository_raises_an_engram_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(GitError):
            open_repository(str(folder))


def test_remotes_are_added_and_removed(repo: Repository) -> None:
    remotes.add(repo, "team", "https://user:secret@example.org/lore.git")
    assert remotes.Remote("team", "https://***@example.org/lore.git") in remotes.remotes(repo)
    remotes.remove(repo, "team")
    assert [one.name for one in remotes.remotes(repo)] == ["origin"]
    for name, url in (("origin", "x"), ("a b", "x"), ("new", "ext::sh -c true"), ("new", "--upload-pack=x")):
        with pytest.raises(UsageError):
            remotes.add(repo, name, url)
