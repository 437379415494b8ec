"""The branch of lore travels by the remotes of the code repository, alone: no other branch comes or goes with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, cli, git, ok, repository

from engram.usecases.opening.init import init
from tests.opening.test_branch_placement import BRANCH, JUDGEMENTS, code_state, listed, made, record, subjects


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code repository that keeps its lore on a branch."""
    return made(tmp_path / "code")


@pytest.fixture
def hub(code: Path, tmp_path: Path) -> Path:
    """A bare remote of the code repository, by a path relative to it."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    git(code, "remote", "add", "origin", "../hub.git")
    git(code, "push", "-q", "origin", "main")
    return tmp_path / "hub.git"


def test_sync_takes_and_sends_the_branch_alone(code: Path, hub: Path, tmp_path: Path) -> None:
    git(code, "tag", "v1")
    git(code, "branch", "private")
    record(code)
    assert ok("sync", "--json", cwd=code).json["branch"] == BRANCH
    assert git(hub, "for-each-ref", "--format=%(refname)").split() == [
        f"refs/heads/{BRANCH}",
        "refs/heads/main",
    ]
    git(tmp_path, "clone", "-q", "hub.git", "second")
    second = tmp_path / "second"
    assert "`engram init` takes it" in cli("list", "--scope", "project", cwd=second).err
    assert "`engram init` takes it" in ok("query", "queue consumer", cwd=second).err
    refused = cli("sync", cwd=second)
    assert (refused.code, "`engram init` takes it" in refused.err) == (3, True)
    assert ok("query", "queue consumer", "--scope", "user", cwd=second).err == ""
    begins = json.dumps({"session_id": "s", "cwd": str(second), "source": "startup"}).encode()
    brief = ok("hook", "session-start", "--agent", "claude-code", cwd=second, stdin=begins).json
    assert "`engram init` takes it" in brief["hookSpecificOutput"]["additionalContext"]
    assert "Taken from origin." in ok("init", cwd=second).out
    before = code_state(code), code_state(second)
    record(second, TIDES)
    for root in (second, code, second):
        ok("query", "queue consumer", cwd=root)
        ok("feedback", "--helpful", "L1", cwd=root)
        ok("sync", cwd=root)
    ok("sync", cwd=code)
    assert git(code, "rev-parse", JUDGEMENTS) == git(second, "rev-parse", JUDGEMENTS)
    assert (code_state(code), code_state(second)) == before
    assert git(code, "rev-parse", BRANCH) == git(second, "rev-parse", BRANCH)
    assert (listed(code), listed(second)) == (2, 2)
    assert ok("undo", "--json", cwd=second).json["undone"]


def test_a_remote_without_the_branch_never_gives_another(code: Path, hub: Path) -> None:
    git(code, "config", f"branch.{BRANCH}.remote", "origin")
    git(code, "config", f"branch.{BRANCH}.merge", "refs/heads/main")
    done = ok("sync", "--json", cwd=code).json
    assert (done["branch"], done["pulled"]) == (BRANCH, 0)
    assert git(hub, "rev-parse", "main") == git(code, "rev-parse", "main")
    assert "src" not in git(code, "ls-tree", "--name-only", BRANCH).split()


@pytest.mark.slow
def test_two_that_began_apart_are_joined(code: Path, hub: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "hub.git", "second")
    second = tmp_path / "second"
    init(str(second))
    record(code)
    record(second, TIDES)
    for root in (code, second, code):
        ok("sync", cwd=root)
    assert (listed(code), listed(second)) == (2, 2)


@pytest.mark.slow
def test_a_shallow_clone_stays_shallow_but_for_its_lore(code: Path, hub: Path, tmp_path: Path) -> None:
    for text in ("one", "two"):
        (code / "src/main.py").write_text(text, "utf-8")
        git(code, "commit", "-q", "-am", text)
        record(code, f"{QUEUE} {text}")
    git(code, "push", "-q", "origin", "main")
    ok("sync", cwd=code)
    words = ("clone", "-q", "--depth=1", "--no-single-branch", hub.as_uri(), "second")
    git(tmp_path, *words)
    second = tmp_path / "second"
    init(str(second))
    assert len(subjects(second)) == 1
    record(second, TIDES)
    record(code, "Deploys run from the release branch only, never from main.")
    ok("sync", cwd=code)
    ok("sync", cwd=second)
    assert {"Start an Engram store", f"record: {TIDES}"} <= set(subjects(second))
    assert len(subjects(second, "HEAD")) == 1
    assert (second / ".git/shallow").read_text().split() == [git(second, "rev-parse", "HEAD")]


def test_a_remotes_branch_that_is_none_of_ours_is_not_taken(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    git(root, "update-ref", f"refs/remotes/origin/{BRANCH}", "HEAD")
    refused = cli("init", cwd=root)
    assert (refused.code, "holds no store" in refused.err) == (1, True)
    assert git(root, "branch", "--list", BRANCH) == ""
    assert not (root / ".git/engram/worktree").exists()


def test_remotes_are_the_code_repositorys_own(code: Path) -> None:
    assert "git remote add" in cli("sync", cwd=code).err
    refused = cli("remote", "add", "origin", "../hub.git", cwd=code)
    assert (refused.code, "git remote" in refused.err) == (2, True)
    assert git(code, "remote") == ""
