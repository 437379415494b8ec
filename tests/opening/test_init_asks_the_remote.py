"""`engram init` in a clone that does not know all of its remote takes the lore that the remote has."""

from __future__ import annotations

import shutil
from pathlib import Path

import prepared
import pytest
from apikit import QUEUE, TIDES, cli, git, ok
from effort import sampled

from tests.opening.test_branch_placement import BRANCH, hidden, listed, made, record, refresh_index, subjects

LATER = "Deploys run from the release branch only, never from main."
PARTIAL = {
    "shallow": ("--depth=1",),
    "single-branch": ("--single-branch", "--branch=main"),
    "shallow-of-all-branches": ("--depth=1", "--no-single-branch"),
}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code repository of several commits, whose remote `hub.git` has its code and its lore."""
    prepared.copy("code whose remote has lore", tmp_path, _make_both)
    refresh_index(tmp_path / "code")
    return tmp_path / "code"


def _make_both(folder: Path) -> None:
    root = made(folder / "code")
    hub = folder / "hub.git"
    git(folder, "init", "-q", "--bare", "-b", "main", str(hub))
    git(root, "remote", "add", "origin", hub.as_uri())
    for text in ("one", "two"):
        (root / "src/main.py").write_text(text, "utf-8")
        git(root, "commit", "-q", "-am", text)
    git(root, "push", "-q", "origin", "main")
    record(root)
    ok("sync", cwd=root)


def cloned(code: Path, *options: str) -> Path:
    root = code.parent / "second"
    git(code.parent, "clone", "-q", *options, (code.parent / "hub.git").as_uri(), "second")
    return root


def roots(root: Path) -> list[str]:
    return git(root, "rev-list", "--max-parents=0", BRANCH).split()


@pytest.mark.slow
@sampled("kind", PARTIAL)
def test_a_partial_clone_takes_the_remotes_lore_and_syncs_it_both_ways(code: Path, kind: str) -> None:
    second = cloned(code, *PARTIAL[kind])
    commits = subjects(second, "HEAD")
    assert "Taken from origin." in ok("init", cwd=second).out
    assert listed(second) == 1
    record(second, TIDES)
    record(code, LATER)
    for root in (code, second, code):
        ok("sync", cwd=root)
    assert (listed(code), listed(second)) == (3, 3)
    assert git(code, "rev-parse", BRANCH) == git(second, "rev-parse", BRANCH)
    assert roots(second) == roots(code)
    assert len(roots(code)) == 1
    assert subjects(second, "HEAD") == commits  # none of the code's history came along
    assert git(second, "fetch", "-q", "origin") == ""


def test_lore_that_came_to_the_remote_after_the_clone_was_made_is_taken(code: Path) -> None:
    git(code, "push", "-q", "origin", f":{BRANCH}")
    second = cloned(code)
    ok("sync", cwd=code)
    assert "Taken from origin." in ok("init", cwd=second).out
    assert (listed(second), git(second, "rev-parse", BRANCH)) == (1, git(code, "rev-parse", BRANCH))


@sampled("kind", PARTIAL)
def test_a_store_begun_offline_says_so_and_is_joined_by_the_next_sync(code: Path, kind: str) -> None:
    second = cloned(code, *PARTIAL[kind])
    git(second, "update-ref", "-d", f"refs/remotes/origin/{BRANCH}")
    hub = code.parent / "hub.git"
    hub.rename(code.parent / "away.git")
    said = ok("init", cwd=second).out
    assert "could not be asked" in said
    assert "`engram sync` merges both" in said
    record(second, TIDES)
    (code.parent / "away.git").rename(hub)
    for root in (second, code):
        ok("sync", cwd=root)
    assert (listed(code), listed(second)) == (2, 2)
    assert git(code, "rev-parse", BRANCH) == git(second, "rev-parse", BRANCH)
    assert git(second, "status", "--porcelain") == git(hidden(second), "status", "--porcelain") == ""


def test_a_remote_without_lore_is_asked_and_a_new_store_begins(code: Path) -> None:
    git(code, "push", "-q", "origin", f":{BRANCH}")
    second = cloned(code, "--depth=1")
    said = ok("init", cwd=second).out
    assert "Taken from" not in said
    assert "could not be asked" not in said
    assert subjects(second) == ["Start an Engram store"]


def test_a_branch_of_the_remote_that_holds_no_store_is_not_taken(code: Path) -> None:
    git(code, "push", "-q", "-f", "origin", f"main:{BRANCH}")
    second = cloned(code, "--depth=1")
    refused = cli("init", cwd=second)
    assert (refused.code, "holds no store" in refused.err) == (1, True)
    assert git(second, "branch", "--list", BRANCH) == ""


def test_moving_a_store_to_a_branch_that_only_the_remote_has_is_refused(code: Path) -> None:
    second = cloned(code, "--depth=1")
    shutil.rmtree(second / "lore", ignore_errors=True)
    ok("init", "--placement", "in-tree", cwd=second)
    record(second, QUEUE)
    refused = cli("move", "--to", "branch", cwd=second)
    assert refused.code == 1
    assert f"origin has a branch {BRANCH} already" in refused.err
