"""The work tree of lore that git keeps out of sight: nothing that is done to the code or its repository harms it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, cli, git, ok, open_test_store
from effort import sampled

from engram.usecases.store.commit import commit_pending
from tests.opening.test_branch_placement import BRANCH, hidden, listed, made, record, subjects


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code repository that keeps its lore on a branch."""
    return made(tmp_path / "code")


@pytest.mark.parametrize("state", ["rebase", "merge", "detached"])
def test_git_operations_under_way_in_the_code_do_not_disturb_the_hidden_work_tree(
    code: Path, state: str
) -> None:
    if state == "detached":
        git(code, "checkout", "-q", "--detach")
    else:
        git(code, "checkout", "-q", "-b", "other")
        for branch in ("other", "main"):
            git(code, "checkout", "-q", branch)
            (code / "src/main.py").write_text(branch, "utf-8")
            git(code, "commit", "-q", "-am", branch)
        git(code, state, "other", check=False)
    record(code)
    assert subjects(code)[0] == f"record: {QUEUE}"
    if state != "detached":
        git(code, state, "--abort")
    assert listed(code) == 1
    assert git(code, "status", "--porcelain") == ""


def test_cleaning_and_checkouts_do_not_reach_the_hidden_work_tree(code: Path, tmp_path: Path) -> None:
    git(code, "worktree", "add", "-q", str(tmp_path / "one"))
    record(tmp_path / "one")
    git(code, "worktree", "remove", str(tmp_path / "one"))
    git(code, "clean", "-fdxq")
    git(code, "worktree", "prune", "--expire=now")
    git(code, "gc", "-q", "--prune=now")
    git(code, "pack-refs", "--all")
    for words in (
        ["worktree", "remove", "--force", str(hidden(code))],
        ["branch", "-D", BRANCH],
        ["checkout", BRANCH],
    ):
        assert "fatal" in (said := git(code, *words, check=False)) or "error" in said
    record(code, TIDES)
    assert (listed(code), len(subjects(code))) == (2, 3)


def _whole(root: Path) -> None:
    git(root, "worktree", "remove", "-f", "-f", str(hidden(root)))


@sampled(
    "destroy",
    [
        lambda root: shutil.rmtree(hidden(root)),
        lambda root: shutil.rmtree(root / ".git/worktrees"),
        lambda root: os.unlink(hidden(root) / ".git"),
        lambda root: os.unlink(hidden(root) / ".engram.toml"),
        _whole,
    ],
    2,
    ids=["folder", "registration", "git file", "settings", "both"],
)
def test_a_missing_hidden_work_tree_is_restored(code: Path, destroy: object) -> None:
    record(code)
    source = (code / ".git/engram/branch/source").read_text()
    with open_test_store(hidden(code)) as store:
        store.record(TIDES, category="FACT")  # acknowledged, and not in git yet
        assert callable(destroy)
        destroy(code)
    assert listed(code / "src") == 2
    with open_test_store(hidden(code)) as store:
        commit_pending(store.store)
    assert subjects(code)[:2] == [f"record: {TIDES}", f"record: {QUEUE}"]
    assert git(hidden(code), "status", "--porcelain") == ""
    assert ok("doctor", cwd=code).out == "All is well.\n"
    assert (code / ".git/engram/branch/source").read_text() == source
    assert len(git(code, "worktree", "list").splitlines()) == 2


def test_the_hidden_work_tree_still_works_after_the_repository_was_moved(code: Path, tmp_path: Path) -> None:
    record(code)
    moved = code.rename(tmp_path / "elsewhere")
    record(moved, TIDES)
    assert (listed(moved), subjects(moved)[0]) == (2, f"record: {TIDES}")
    assert "not registered" in cli("doctor", cwd=moved).out
    ok("doctor", "--fix", cwd=moved)
    assert str(hidden(moved)) in git(moved, "worktree", "list")
    assert ok("doctor", cwd=moved).out == "All is well.\n"
