"""A library with parsers of its own (GitPython) reads what Engram wrote into a repository, and Engram goes on from its commits."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import START
from git import Repo
from storekit import commit
from sync_kit import Clones, files


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def staged(repo: Repo) -> dict[str, str]:
    """What the index holds, as ids of content by path; nothing of it unmerged."""
    assert {stage for _, stage in repo.index.entries} == {0}
    return {str(path): entry.hexsha for (path, _), entry in repo.index.entries.items()}


def committed(repo: Repo) -> dict[str, bytes]:
    """The files of the commit that the branch is at."""
    found = (item for item in repo.head.commit.tree.traverse() if not isinstance(item, tuple))
    return {str(item.path): item.data_stream.read() for item in found if item.type == "blob"}


def assert_in_step(repo: Repo) -> None:
    """Commit, index and work tree are one and the same."""
    blobs = (item for item in repo.head.commit.tree.traverse() if not isinstance(item, tuple))
    assert staged(repo) == {str(item.path): item.hexsha for item in blobs if item.type == "blob"}
    assert committed(repo) == files(Path(str(repo.working_tree_dir)))
    assert not repo.is_dirty(untracked_files=True)


@pytest.mark.slow
def test_commits_index_and_remotes_are_read_as_they_are_meant(clones: Clones) -> None:
    first = clones.record("a", "Lesson of both.")
    clones.settle()
    for name in "ab":
        clones[name].feedback(helpful=[first.id])
        clones.record(name, f"Only {name} knows: größer als 3 µm.")
        clones[name].forget(clones.record(name, f"A mistake of {name}.").id)
    clones.settle()
    for name in "ab":
        with Repo(clones.root(name)) as repo:
            assert_in_step(repo)
            assert repo.remotes.origin.url == str(clones.hub)
            assert repo.active_branch.tracking_branch().commit == repo.head.commit
            assert any(len(one.parents) == 2 for one in repo.iter_commits())
            said = [one for one in clones[name].log() if not one.op.endswith(one.commit)]  # no judgements
            assert len(said) > 5
            read = [repo.commit(one.commit) for one in said]
            assert [(f"{one.author} <{one.author.email}>", one.authored_datetime) for one in read] == [
                (one.author, one.at) for one in said
            ]
            operation = next(one for one in said if one.op)
            assert repo.commit(operation.commit).trailers_dict["Engram-Id"] == [operation.op]


def test_engram_goes_on_from_commits_of_the_library(clones: Clones) -> None:
    """They are what a person's tools make: an index written by another program, a commit without Engram's trailers."""
    lore = clones.record("a", "The cache is warm after a minute.")
    clones.settle()
    path = clones.path("a", lore)
    clones.edit("a", path, "a minute", "two minutes")
    (clones.root("a") / "notes.txt").write_text("by hand\n", "utf-8")
    with Repo(clones.root("a")) as repo:
        repo.index.add([path, "notes.txt"])
        repo.index.commit("by a tool", author_date=START, commit_date=START)
        clones.record("a", "Learnt after it.")
        commit(clones["a"])
        assert [str(one.message).strip() for one in repo.iter_commits(max_count=2)][1] == "by a tool"
        repo.index.update()  # read anew
        assert_in_step(repo)
    clones.settle()
    clones.assert_equal()
    assert clones["b"].get(lore.id).lore.content == "The cache is warm after two minutes."
    assert (clones.root("b") / "notes.txt").read_text("utf-8") == "by hand\n"
