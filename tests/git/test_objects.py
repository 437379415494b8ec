"""What is known of commits without asking git is what git says: differences, new blobs, Engram's own moves, settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import git
from gitkit import opened
from hypothesis import given
from hypothesis import strategies as st
from sync_kit import Clones, commit

from engram.adapters.git.read import blob_stream, differences
from engram.adapters.git.read.objects import Entry
from engram.adapters.git.run.layout import Repository, read_head
from engram.adapters.git.write import lore_branch
from engram.domain.errors import GitError
from engram.usecases.index import freshness
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
def test_two_differences_from_one_tree_make_that_between_the_others(
    base: dict[str, Entry], one: dict[str, Entry], other: dict[str, Entry]
) -> None:
    assert differences.between(difference(base, one), difference(base, other)) == difference(one, other)


def test_what_a_merge_is_known_to_change_is_what_git_finds(
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
    store, repo = clones["a"].store, opened(clones.root("a"))
    git(clones.root("a"), "fetch", "-q", str(clones.root("b")), "HEAD:refs/b")
    ours, theirs = (git(clones.root("a"), "rev-parse", name) for name in ("HEAD", "refs/b"))
    incoming_paths.check_commits(repo, ours, theirs, "")
    merge = commit_merge.merge_commits(store, commit_merge.plan_merge(store, ours, theirs))
    assert merge is not None
    base = git(clones.root("a"), "merge-base", ours, theirs)
    known = {start: differences.differences(repo, start, merge.commit) for start in (base, ours, theirs)}
    monkeypatch.setattr(differences, "_known", {})
    for start, found in known.items():
        assert found == differences.differences(repo, start, merge.commit)
    assert len(merge.merged) == 2
    assert known[ours].keys() == merge.changes.keys()


def test_the_new_blobs_of_a_history_are_those_that_git_lists(clones: Clones) -> None:
    """With merges, moves, a file that was brought back, and a start without any commit known."""
    root = clones.root("a")
    repo = opened(root)
    known = read_head(repo).oid
    lore = clones.record("a", "Lesson.\n\nMore.")
    clones["a"].edit(lore.id, Edit(add_tags=("more",)))
    commit(clones["a"])
    clones.record("b", "Another.")
    clones.sync("b", "a", "b")
    old = clones["a"].get(lore.id).path
    git(root, "mv", old, f"{os.path.dirname(old)}/elsewhere.md")
    git(root, "commit", "-q", "-m", "move")
    for since in (known, None, git(root, "rev-parse", "HEAD~1")):
        listed = git(root, "rev-list", "--objects", "HEAD", *(["--not", since] if since else [])).split("\n")
        named = [line.split(" ", 1) for line in listed if " " in line]
        wanted = {oid for oid, path in named if path and git(root, "cat-file", "-t", oid) == "blob"}
        found = differences.introduced(repo, differences.outgoing(repo, since, "HEAD"))
        assert {oid for oid in found.blobs if oid.strip("0")} == wanted
        before = git(root, "ls-tree", "-r", "--name-only", since).split("\n") if since else []
        added = set(git(root, "ls-tree", "-r", "--name-only", "HEAD").split("\n")) - {*before}
        assert added <= found.paths.keys()
        for path, first in found.paths.items():
            assert git(root, "cat-file", "-e", f"{first}:{path}") == ""
            parents = git(root, "rev-parse", f"{first}^@").split()
            assert not any(git(root, "ls-tree", "--name-only", one, "--", path) for one in parents)


def test_a_large_store_is_not_swept_after_engrams_own_moves_of_the_branch(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", 0)
    monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", 0)
    engram = clones["a"]
    engram.refresh()
    generation = engram.store.index.look()
    assert generation is not None
    engram.record("Lesson of a.", category="FACT")
    commit(engram)
    clones.record("b", "Lesson of b.")
    clones.sync("b", "a")
    generation = engram.store.index.look()
    assert generation is not None
    assert generation.head != freshness.head_commit(engram.store)
    assert not freshness.is_sweep_due(engram.store, generation)
    git(clones.root("a"), "commit", "-q", "--allow-empty", "-m", "by hand")
    assert freshness.is_sweep_due(engram.store, generation)


def test_only_unbroken_moves_of_engram_lead_from_one_commit_to_another(tmp_path: Path) -> None:
    repo = Repository(str(tmp_path), str(tmp_path), str(tmp_path), "main")
    for old, new in ((None, "a"), ("a", "b"), ("b", "c"), ("x", "y")):
        lore_branch.note_move(repo, str(tmp_path), old, new)
        assert lore_branch.own_moves_lead(repo, str(tmp_path), old or "", new)
    assert lore_branch.own_moves_lead(repo, str(tmp_path), "x", "y")
    assert not lore_branch.own_moves_lead(repo, str(tmp_path), "a", "y")
    lore_branch.note_move(repo, str(tmp_path), "y", "z")
    assert lore_branch.own_moves_lead(repo, str(tmp_path), "x", "z")
    assert not lore_branch.own_moves_lead(repo, str(tmp_path), "x", "y"), "the branch is not there any more"


def test_blobs_come_one_by_one_in_the_order_asked_for_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "store")
    repo = opened(tmp_path / "store")
    contents = [b"", b"a\0b\n", b"x" * 300_000, b"no end of line", b"a\0b\n"]
    oids = []
    for number, content in enumerate(contents):
        (tmp_path / str(number)).write_bytes(content)
        oids.append(
            git(Path(repo.worktree), "hash-object", "-w", "--no-filters", str(tmp_path / str(number)))
        )
    assert list(blob_stream.stream(repo, oids * 40)) == contents * 40
    assert list(blob_stream.stream(repo, [])) == []
    assert next(blob_stream.stream(repo, oids * 500)) == b"", "whoever has enough may stop"
    found = blob_stream.stream(repo, [oids[1], "0" * 40, oids[2]])
    assert next(found) == contents[1]
    with pytest.raises(GitError, match="damaged: it lacks the file contents 0000000000"):
        next(found)
    with pytest.raises(GitError, match="time limit"):
        list(blob_stream.stream(repo, oids * 500, deadline=0.0))
