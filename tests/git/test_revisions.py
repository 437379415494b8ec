"""The repository as it was: commits by name or date, what changed in a folder, and the files of a commit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gitkit import git, make_repository, write

from engram.adapters.git.read.revisions import changes_of, entries_at, files_at, resolve
from engram.domain.errors import NotFoundError

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Three commits, a day apart; the second changes nothing below `lore`."""
    made = make_repository(tmp_path / "r")
    for day, path in ((1, "lore/a.md"), (2, "README.md"), (3, "lore/b c.txt")):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"2026-03-0{day}T12:00:00+00:00")
        write(made, path, f"{path}\n")
        git(made, "add", ".")
        git(made, "commit", "-qm", str(day))
    return made


def commits(repo: Repository) -> list[str]:
    return git(repo, "log", "--reverse", "--format=%H").split()


def test_a_commit_is_named_by_a_revision_or_a_date(repo: Repository) -> None:
    first, second, third = commits(repo)
    names = {
        "HEAD": third,
        "main~1": second,
        first[:9]: first,
        "2026-03-02": first,
        "2026-03-02T12:00:01Z": second,
    }
    assert {name: resolve(repo, name) for name in names} == names
    with pytest.raises(NotFoundError, match="There is no commit"):
        resolve(repo, "nowhere")
    with pytest.raises(NotFoundError, match="no commit before"):
        resolve(repo, "2026-02-01")


def test_the_commits_that_changed_a_folder_come_oldest_first(repo: Repository) -> None:
    first, second, third = commits(repo)
    assert changes_of(repo, "lore", "", third) == [first, third]
    assert changes_of(repo, "lore", first, third) == [third]
    assert changes_of(repo, "lore", first, second) == []


def test_files_of_a_past_commit_are_read_and_links_are_left_out(repo: Repository) -> None:
    os.symlink("a.md", Path(repo.worktree, "lore/link.md"))
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "4")
    assert set(entries_at(repo, "HEAD", "lore")) == {"lore/a.md", "lore/b c.txt", "lore/link.md"}
    assert dict(files_at(repo, "HEAD", "lore")) == {
        "lore/a.md": b"lore/a.md\n",
        "lore/b c.txt": b"lore/b c.txt\n",
    }
    assert dict(files_at(repo, "HEAD", "", ".md")).keys() == {"README.md", "lore/a.md"}
    assert dict(files_at(repo, "HEAD~3", "")).keys() == {"lore/a.md"}
