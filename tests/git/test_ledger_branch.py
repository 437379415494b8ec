"""The branch of judgements in a repository: written without a work tree, moved only from where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gitkit import MOMENT, assert_sound, git, isolate, repository_of, status

from engram.adapters.git.write import ledger_branch
from engram.domain.errors import GitError

if TYPE_CHECKING:
    from pathlib import Path

BRANCH = ledger_branch.BRANCH
PERSON = "Pat Person <pat@example.org>"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)


def test_the_branch_has_a_separate_history(tmp_path: Path) -> None:
    repo = repository_of(tmp_path / "repo", {"code.py": "1\n"})
    assert ledger_branch.tip(repo, BRANCH) is None
    first = ledger_branch.write(repo, None, {"3X/a.jsonl": b"1\n", "top": b"x"}, PERSON, MOMENT, "one\n")
    assert ledger_branch.move(repo, BRANCH, None, first)
    second = ledger_branch.write(repo, first, {"3X/a.jsonl": b"1\n2\n", "top": None}, PERSON, MOMENT, "two\n")
    assert ledger_branch.move(repo, BRANCH, first, second)
    assert ledger_branch.tip(repo, BRANCH) == second
    assert git(repo, "log", "--format=%s %an %ce %at", BRANCH).splitlines() == [
        f"{subject} Pat Person pat@example.org {MOMENT}" for subject in ("two", "one")
    ]
    assert git(repo, "merge-base", "HEAD", BRANCH, check=False) == ""
    assert status(repo) == ""
    assert_sound(repo)


def test_differences_are_blob_ids_by_path_and_blobs_are_read_by_them(tmp_path: Path) -> None:
    repo = repository_of(tmp_path / "repo", {"code.py": "1\n"})
    first = ledger_branch.write(repo, None, {"a/x": b"1\n", "b": b"2\n"}, PERSON, MOMENT, "one\n")
    second = ledger_branch.write(
        repo, first, {"a/x": b"1\n3\n", "b": None, "c": b"4\n"}, PERSON, MOMENT, "two\n"
    )
    whole, change = (
        ledger_branch.changed_blobs(repo, None, first),
        ledger_branch.changed_blobs(repo, first, second),
    )
    assert whole.keys() == {"a/x", "b"}
    assert change.keys() == {"a/x", "b", "c"}
    assert change["b"] is None
    oids = [oid for oid in change.values() if oid]
    assert sorted(ledger_branch.contents(repo, oids).values()) == [b"1\n3\n", b"4\n"]
    assert set(ledger_branch.files(repo, second)) == {"a/x", "c"}


def test_the_branch_moves_only_from_where_it_was(tmp_path: Path) -> None:
    repo = repository_of(tmp_path / "repo", {"code.py": "1\n"})
    one, other = (ledger_branch.write(repo, None, {"x": raw}, PERSON, MOMENT, "x\n") for raw in (b"1", b"2"))
    assert ledger_branch.move(repo, BRANCH, None, one)
    assert not ledger_branch.move(repo, BRANCH, None, other)
    assert not ledger_branch.move(repo, BRANCH, other, one)
    assert ledger_branch.tip(repo, BRANCH) == one


@pytest.mark.parametrize("state", ["switch", "rebase"])
def test_a_branch_that_a_person_works_on_is_not_moved(tmp_path: Path, state: str) -> None:
    repo = repository_of(tmp_path / "repo", {"code.py": "1\n"})
    tip = ledger_branch.write(repo, None, {"x": b"1\n"}, PERSON, MOMENT, "one\n")
    ledger_branch.move(repo, BRANCH, None, tip)
    new = ledger_branch.write(repo, tip, {"x": b"1\n2\n"}, PERSON, MOMENT, "two\n")
    git(repo, "switch", "-q", BRANCH)
    if state == "rebase":
        git(repo, "rebase", "-q", "--root", "--exec", "false", check=False)
        assert git(repo, "symbolic-ref", "-q", "HEAD", check=False) == ""
    with pytest.raises(GitError, match=f"{BRANCH} is checked out in {repo.worktree}"):
        ledger_branch.move(repo, BRANCH, tip, new)
    if state == "rebase":
        git(repo, "rebase", "--abort")
    git(repo, "switch", "-q", "main")
    assert ledger_branch.move(repo, BRANCH, tip, new)


def test_remote_tips_of_the_branch_are_those_of_the_last_fetch_origin_first(tmp_path: Path) -> None:
    repo = repository_of(tmp_path / "repo", {"code.py": "1\n"})
    one, other = (ledger_branch.write(repo, None, {"x": raw}, PERSON, MOMENT, "x\n") for raw in (b"1", b"2"))
    assert ledger_branch.known_tips(repo, BRANCH) == []
    git(repo, "update-ref", f"refs/remotes/fork/{BRANCH}", one)
    git(repo, "update-ref", f"refs/remotes/origin/{BRANCH}", other)
    assert ledger_branch.known_tips(repo, BRANCH) == [other, one]
