"""Differences between trees, and the new blobs of a history, are those that git finds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import git
from gitkit import open_repository
from hypothesis import given
from hypothesis import strategies as st
from storekit import commit
from sync_kit import Clones

from engram.adapters.git.read import differences
from engram.adapters.git.read.objects import Entry
from engram.adapters.git.run.layout import read_head
from engram.adapters.git.write import merge_commit
from engram.usecases.merge import commit_merge, incoming_paths
from engram.usecases.recording.edit import Edit

TREES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("123").map(lambda oid: Entry("100644", oid)))


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def difference(one: dict[str, Entry], other: dict[str, Entry]) -> dict[str, differences.Difference]:
    paths = (path for path in one.keys() | other.keys() if one.get(path) != other.get(path))
    return {path: differences.Difference(one.get(path), other.get(path)) for path in paths}


@given(TREES, TREES, TREES)
def test_differences_from_a_common_tree_combine_to_those_between_the_others(
    base: dict[str, Entry], one: dict[str, Entry], other: dict[str, Entry]
) -> None:
    assert differences.between(difference(base, one), difference(base, other)) == difference(one, other)


def test_cached_differences_of_a_merge_equal_those_of_git(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both changed an entry, one moved or deleted others, both have a text that cannot be merged by lines."""
    ids = [clones.record("a", f"Lesson {n}.\n\nMore of {n}.").id for n in range(4)]
    clones.settle()
    for name in "ab":
        clones[name].edit(ids[0], Edit(add_tags=(name,)))
        clones.record(name, f"Only {name}.")
        (clones.root(name) / "notes.txt").write_text(f"{name}\n")
        commit(clones[name])
        git(clones.root(name), "add", "notes.txt")
        git(clones.root(name), "commit", "-q", "-m", "notes")
    path = clones["a"].get(ids[1]).path
    git(clones.root("a"), "mv", path, f"{os.path.dirname(path)}/elsewhere.md")
    git(clones.root("a"), "commit", "-q", "-m", "move")
    clones["b"].forget(ids[2])
    commit(clones["b"])
    store, repo = clones["a"].store, open_repository(clones.root("a"))
    git(clones.root("a"), "fetch", "-q", str(clones.root("b")), "HEAD:refs/b")
    ours, theirs = (git(clones.root("a"), "rev-parse", name) for name in ("HEAD", "refs/b"))
    incoming_paths.check_commits(repo, ours, theirs, "")
    merge = commit_merge.merge_commits(store, commit_merge.plan_merge(store, ours, theirs))
    assert merge is not None
    base = git(clones.root("a"), "merge-base", ours, theirs)
    known = {start: differences.differences(repo, start, merge.commit) for start in (base, ours, theirs)}
    sent = differences.outgoing(repo, theirs, merge.commit)
    monkeypatch.setattr(differences, "_difference_cache", {})
    monkeypatch.setattr(differences, "_outgoing_cache", {})
    assert sent == differences.outgoing(repo, theirs, merge.commit)
    for start, found in known.items():
        assert found == differences.differences(repo, start, merge.commit)
    assert len(merge.merged) == 2
    assert known[ours].keys() == merge.changes.keys()


def test_the_search_for_foreign_merges_caches_every_outgoing_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those whose addresses and trailers hold what Python takes for the end of a line."""
    git(tmp_path, "init", "-q")
    for number, odd in enumerate(("", "\f", "\x1c", "\u2028", "\x85")):
        message = f"{number}\n\nEngram-Repairs: {odd}1\n 2{odd}3"
        author = (f"--author=A{odd}B <a{odd}b@c>", "--allow-empty", "-m", message)
        git(tmp_path, "commit", "-q", *author)
    repo = open_repository(tmp_path)
    known, head = (git(tmp_path, "rev-parse", name) for name in ("HEAD~4", "HEAD"))
    merge_commit.foreign_merges(repo, head, known)
    wanted = git(tmp_path, "rev-list", "--topo-order", "--reverse", head, "--not", known).split()
    monkeypatch.setattr(differences, "run", None)  # git is not asked again
    assert differences.outgoing(repo, known, head) == wanted


def test_outgoing_commits_are_not_cached_in_a_shallow_clone(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    clones.record("a", "Lesson.\n\nMore.")
    clones.settle()
    repo = open_repository(clones.root("a"))
    head = git(clones.root("a"), "rev-parse", "HEAD")
    Path(repo.common_dir, "shallow").write_text("")
    monkeypatch.setattr(differences, "_outgoing_cache", {})
    assert head in differences.outgoing(repo, None, head)
    assert differences._outgoing_cache == {}


def test_the_new_blobs_of_a_history_are_those_that_git_lists(clones: Clones) -> None:
    """With merges, moves, a file that was brought back, and a start without any commit known."""
    root = clones.root("a")
    repo = open_repository(root)
    known = read_head(repo).oid
    lore = clones.record("a", "Lesson.\n\nMore.")
    clones["a"].edit(lore.id, Edit(add_tags=("more",)))
    commit(clones["a"])
    clones.record("b", "Another.")
    clones.sync("b", "a", "b")
    old = clones["a"].get(lore.id).path
    git(root, "mv", old, f"{os.path.dirname(old)}/elsewhere.md")
    git(root, "commit", "-q", "-m", "move")
    tip = git(root, "rev-parse", "HEAD")
    for since in (known, None, git(root, "rev-parse", "HEAD~1")):
        listed = git(root, "rev-list", "--objects", "HEAD", *(["--not", since] if since else [])).split("\n")
        named = [line.split(" ", 1) for line in listed if " " in line]
        wanted = {oid for oid, path in named if path and git(root, "cat-file", "-t", oid) == "blob"}
        found = differences.introduced(repo, differences.outgoing(repo, since, tip))
        assert {oid for oid in found.blobs if oid.strip("0")} == wanted
        before = git(root, "ls-tree", "-r", "--name-only", since).split("\n") if since else []
        added = set(git(root, "ls-tree", "-r", "--name-only", "HEAD").split("\n")) - {*before}
        assert added <= found.paths.keys()
        for path, first in found.paths.items():
            assert git(root, "cat-file", "-e", f"{first}:{path}") == ""
            parents = git(root, "rev-parse", f"{first}^@").split()
            assert not any(git(root, "ls-tree", "--name-only", one, "--", path) for one in parents)


def test_one_comparison_names_the_changed_files_and_their_folders(tmp_path: Path) -> None:
    """A file became a folder, another folder went; what the commit brought is what its own differences say."""
    git(tmp_path, "init", "-q")
    repo = open_repository(tmp_path)
    for name in ("a/b/one", "a/b/two", "same/three", "file", "gone/four"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "before")
    git(tmp_path, "rm", "-q", "file", "gone/four")
    for name in ("a/b/one", "a/five", "file/six"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a/b/two" if name == "file/six" else "new")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "after")
    one, tip = (git(tmp_path, "rev-parse", name) for name in ("HEAD~1", "HEAD"))
    files, folders = differences.differences_and_folders(repo, one, tip)
    assert folders == {path: git(tmp_path, "rev-parse", f"{tip}:{path}") for path in ("a", "a/b", "file")}
    assert differences.differences(repo, one, tip) == files
    differences._difference_cache.clear()
    assert differences.differences(repo, one, tip) == files
    assert differences.introduced_by_one(files, tip) == differences.introduced(repo, [tip])
