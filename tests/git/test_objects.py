"""Objects of a repository: read many at once, what a commit holds at paths, and the ids that git would give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gitkit import git, make_repository, write

from engram.adapters.git.read import objects
from engram.adapters.git.read.objects import Entry, blob_oid, check_path, entries
from engram.domain.errors import GitError

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """One commit with three files, in a folder, with blanks and empty."""
    made = make_repository(tmp_path / "r")
    for path, content in (("lore/a.md", "Text\n\n"), ("two words.md", "x"), ("empty", "")):
        write(made, path, content)
    git(made, "add", ".")
    git(made, "commit", "-qm", "one")
    return made


def test_objects_are_read_in_order_and_missing_ones_are_none(repo: Repository) -> None:
    names = [b"HEAD:lore/a.md", b"HEAD:no such file", b"HEAD:empty", b"HEAD", b"HEAD:two words.md"]
    found = objects.read(repo, names)
    kinds = [one and one.kind for one in found]
    assert kinds == [b"blob", None, b"blob", b"commit", b"blob"]
    assert [found[at].content for at in (0, 2, 4)] == [b"Text\n\n", b"", b"x"]  # type: ignore[union-attr]
    assert objects.read(repo, []) == []


def test_entries_are_the_files_of_a_commit_as_git_lists_them(repo: Repository) -> None:
    head = git(repo, "rev-parse", "HEAD")
    oid = git(repo, "rev-parse", "HEAD:lore/a.md")
    assert entries(repo, head, ["lore/a.md", "lore", "none", "*"]) == {"lore/a.md": Entry("100644", oid)}
    assert entries(repo, None, ["lore/a.md"]) == {}
    assert blob_oid(b"Text\n\n", "sha1") == oid


def test_cached_entries_of_a_commit_are_not_read_again_and_others_are(repo: Repository) -> None:
    head = git(repo, "rev-parse", "HEAD")
    learnt = Entry("100644", "f" * 40)
    objects.learn(repo, head, {"lore/a.md": learnt, "empty": None})
    found = entries(repo, head, ["lore/a.md", "empty", "two words.md"])
    assert found == {"lore/a.md": learnt, "two words.md": Entry("100644", blob_oid(b"x", "sha1"))}


def test_a_path_that_git_refuses_is_an_error() -> None:
    assert check_path("lore/.gitx/a.md") == "lore/.gitx/a.md"
    for path in ("", "/a", "a//b", "./a", "a/..", ".GIT/x", "a/git~1", "a\0b"):
        with pytest.raises(GitError, match="not a path that can be committed"):
            check_path(path)
