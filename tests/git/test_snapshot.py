"""Hand edits are found by their bytes, whatever the index says about them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import gitkit
import pytest
from gitkit import apply, change, git, make_repository, person_commits, repository_of, state_folder, status

from engram.adapters.git.read.snapshot import outside_changes
from engram.adapters.git.write import staging
from engram.adapters.git.write.commits import FileChange, commit_all

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository


pytestmark = pytest.mark.usefixtures("persons_git")


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return repository_of(
        tmp_path / "repo", {"code.py": "1\n", "lore/a.md": "a\n", "lore/b.md": "b\n", "lore/d/c.md": "c\n"}
    )


def test_a_clean_work_tree_has_no_outside_changes(repo: Repository) -> None:
    assert outside_changes(repo, "lore") == ()
    assert outside_changes(repo, "") == ()
    assert outside_changes(repo, "no-such-folder") == ()


def test_only_new_changed_and_deleted_files_under_the_folder_are_found(repo: Repository) -> None:
    gitkit.write(repo, "lore/a.md", "edited\n")
    gitkit.write(repo, "lore/new one/ü.md", "new\n")
    Path(repo.worktree, "lore/d/c.md").unlink()
    gitkit.write(repo, "code.py", "2\n")
    found = (("lore/a.md", False), ("lore/d/c.md", True), ("lore/new one/ü.md", False))
    assert outside_changes(repo, "lore") == found
    assert outside_changes(repo, "") == (("code.py", False), *found)


def test_staging_makes_no_difference(repo: Repository) -> None:
    gitkit.write(repo, "lore/a.md", "edited\n")
    git(repo, "add", "lore/a.md")
    git(repo, "rm", "-q", "--cached", "lore/b.md")
    git(repo, "rm", "-q", "lore/d/c.md")
    assert outside_changes(repo, "lore") == (("lore/a.md", False), ("lore/d/c.md", True))
    gitkit.write(repo, "lore/a.md", "a\n")
    assert outside_changes(repo, "lore") == (("lore/d/c.md", True),)


def test_a_renamed_file_is_one_deleted_and_one_new(repo: Repository) -> None:
    git(repo, "mv", "lore/a.md", "lore/z.md")
    assert outside_changes(repo, "lore") == (("lore/a.md", True), ("lore/z.md", False))


def test_an_index_behind_head_gives_no_false_finding(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = change("x", ("lore/new.md", b"new\n"), ("lore/a.md", None))
    apply(repo, work)
    with monkeypatch.context() as patch:
        patch.setattr(staging, "replace_entries", lambda repo, wanted: None)
        commit_all(repo, [work], "OP1", state_folder(repo))
    assert status(repo) != ""
    assert outside_changes(repo, "lore") == ()


def test_on_a_branch_without_commits_every_file_is_new(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "new", "--object-format=sha256")
    gitkit.write(repo, "lore/a.md", "a\n")
    git(repo, "add", ".")
    gitkit.write(repo, "lore/b.md", "b\n")
    assert outside_changes(repo, "lore") == (("lore/a.md", False), ("lore/b.md", False))


def test_links_pipes_nested_repositories_and_ignored_files_are_left_out(repo: Repository) -> None:
    lore = Path(repo.worktree, "lore")
    (lore / "link.md").symlink_to("/etc/hostname")
    os.mkfifo(lore / "pipe.md")
    person_commits(make_repository(lore / "nested"), {"x.md": "x"})
    gitkit.write(repo, ".gitignore", "*.tmp\n")
    gitkit.write(repo, "lore/x.tmp", "x\n")
    (lore / "b.md").unlink()
    (lore / "b.md").symlink_to("/etc/hostname")
    assert outside_changes(repo, "lore") == ()


def test_settings_of_a_person_do_not_change_the_result(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = "[status]\n\tshowUntrackedFiles = no\n\trelativePaths = true\n\trenames = copies\n[color]\n\tui = always\n"
    gitkit.isolate(monkeypatch, tmp_path, config)
    gitkit.write(repo, "lore/new.md", "new\n")
    assert outside_changes(repo, "lore") == (("lore/new.md", False),)


def test_hand_edits_are_no_longer_found_once_committed(repo: Repository) -> None:
    gitkit.write(repo, "lore/a.md", "edited\n")
    Path(repo.worktree, "lore/b.md").unlink()
    found = outside_changes(repo, "lore")
    changes = tuple(
        FileChange(path, None if deleted else Path(repo.worktree, path).read_bytes())
        for path, deleted in found
    )
    commit_all(repo, [change("Hand edits")._replace(changes=changes)], "OP1", state_folder(repo))
    assert outside_changes(repo, "") == ()
    assert status(repo) == ""


def test_committed_files_are_read_once_and_not_at_every_call(repo: Repository) -> None:
    """The index learns their times on the first call: git would otherwise read each of them for ever."""
    work = change("x", ("lore/new.md", b"new\n"))
    apply(repo, work)
    os.utime(Path(repo.worktree, "lore/new.md"), (1_700_000_000, 1_700_000_000))
    commit_all(repo, [work], "OP1", state_folder(repo))
    assert "mtime: 0:0" in git(repo, "ls-files", "--debug", "lore/new.md")
    outside_changes(repo, "lore")
    assert "mtime: 1700000000:0" in git(repo, "ls-files", "--debug", "lore/new.md")
