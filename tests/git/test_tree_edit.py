"""A tree with some files changed is the one that git itself makes of the same changes, and is all there."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from apikit import git
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.adapters.git.read.objects import Entry, blob_oid
from engram.adapters.git.run.layout import Repository, find_repository
from engram.adapters.git.write import merge_commit, tree_edit
from engram.domain.errors import GitError

# Names that git sorts otherwise than Python does, where one of them is a folder; odd ones; many in one folder.
NAMES = st.sampled_from(
    ["a", "a.b", "a-b", "a0", "ä", "b c", "line\nbreak", '"q"', *(f"n{n}" for n in range(9))]
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(
    PATHS, st.sampled_from([b"", b"one\n", b"two\n", b"\0\xff", b"long " * 2000]), max_size=12
)


def apart(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without those that have a file of the same name as one of their folders."""
    return {
        path: raw for path, raw in files.items() if not any(path.startswith(f"{other}/") for other in files)
    }


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    root = tmp_path_factory.mktemp("repo")
    git(root, "init", "-q", f"--object-format={request.param}")
    found = find_repository(str(root))
    assert found is not None
    return found


def committed_by_git(repo: Repository, files: dict[str, bytes]) -> str:
    """A commit of these files, made with git's index alone."""
    index = os.path.join(repo.git_dir, "index-of-test")
    Path(index).unlink(missing_ok=True)
    environment = {**os.environ, "GIT_INDEX_FILE": index}
    width = 64 if "sha256" in git(Path(repo.worktree), "rev-parse", "--show-object-format") else 40
    lines = [f"0 {'0' * width}\tnothing"]
    for path, raw in files.items():
        oid = subprocess.run(
            ["git", "hash-object", "-w", "--stdin"], cwd=repo.worktree, input=raw, capture_output=True
        )
        lines.append(f"100644 {oid.stdout.decode().strip()}\t{path}")
    words = ["git", "update-index", "-z", "--index-info"]
    data = "".join(f"{line}\0" for line in lines).encode()
    subprocess.run(words, cwd=repo.worktree, input=data, env=environment, check=True)
    tree = subprocess.run(
        ["git", "write-tree"], cwd=repo.worktree, env=environment, capture_output=True, check=True
    )
    return git(Path(repo.worktree), "commit-tree", "-m", "x", tree.stdout.decode().strip())


@given(before=FILES.map(apart), after=FILES.map(apart))
@settings(max_examples=examples(6, 200), deadline=None)
def test_a_changed_tree_is_the_one_that_git_makes(
    repo: Repository, before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    root = Path(repo.worktree)
    start, wanted = committed_by_git(repo, before), committed_by_git(repo, after)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    algorithm = "sha256" if len(start) == 64 else "sha1"
    edits = {
        path: Entry("100644", blob_oid(after[path], algorithm)) if path in after else None for path in changed
    }
    made = merge_commit.write_merge(
        repo, [start], edits, {path: after[path] for path in changed if path in after}, 7
    )
    assert git(root, "rev-parse", f"{made}^{{tree}}") == git(root, "rev-parse", f"{wanted}^{{tree}}")
    assert git(root, "log", "-1", "--format=%P %ct %an <%ae>", made) == f"{start} 7 {merge_commit.AUTHOR}"


def test_both_many_and_few_new_objects_are_stored(repo: Repository) -> None:
    """As a pack or one by one; git reads and checks every one of them."""
    root = Path(repo.worktree)
    algorithm = git(root, "rev-parse", "--show-object-format")
    tip = committed_by_git(repo, {"start": b"start\n"})
    for count in (1, 500):
        contents = {f"{number % 7}/{number}.md": b"text %d\n" % number * 9 for number in range(count)}
        edits = {path: Entry("100755", blob_oid(raw, algorithm)) for path, raw in contents.items()}
        tip = merge_commit.write_merge(repo, [tip], edits, contents, 8)
    assert len(git(root, "ls-tree", "-r", "--name-only", tip).split("\n")) == 501
    git(root, "update-ref", "refs/heads/made", tip)
    assert git(root, "fsck", "--strict", "--full", "--no-dangling") == ""


def test_a_missing_folder_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    repo = find_repository(str(tmp_path))
    assert repo is not None
    start = committed_by_git(repo, {"a/b/one": b"1", "a/b/two": b"2"})
    lost = git(tmp_path, "rev-parse", f"{start}:a/b")
    (tmp_path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    entry = Entry("100644", hashlib.sha1(b"blob 1\0003", usedforsecurity=False).hexdigest())
    with pytest.raises(GitError, match="damaged"):
        merge_commit.write_merge(repo, [start], {"a/b/one": entry}, {"a/b/one": b"3"}, 9)


def test_a_merge_commit_does_not_depend_on_the_parent_its_tree_is_made_from(repo: Repository) -> None:
    """With folders that were read ahead, too."""
    algorithm = (
        "sha256" if "sha256" in git(Path(repo.worktree), "rev-parse", "--show-object-format") else "sha1"
    )
    one = committed_by_git(repo, {"a/one": b"1", "a/two": b"2", "b/three": b"3"})
    other = committed_by_git(repo, {"a/one": b"1", "a/two": b"two", "c": b"4"})
    entry = {raw: Entry("100644", blob_oid(raw, algorithm)) for raw in (b"two", b"4", b"new")}
    parents, contents = sorted((one, other)), {"a/one": b"new"}
    upon_one = {"a/one": entry[b"new"], "a/two": entry[b"two"], "b/three": None, "c": entry[b"4"]}
    upon_other = {"a/one": entry[b"new"], "b/three": None}
    made = merge_commit.write_merge(repo, parents, upon_one, contents, 5, upon=one)
    ids = {"a": git(Path(repo.worktree), "rev-parse", f"{other}:a")}
    known = [tree_edit.read_folders(repo, other, ["a/two", "c"], some) for some in ({}, ids)]
    for folders in (None, *known):
        written = merge_commit.write_merge(
            repo, parents, upon_other, contents, 5, upon=other, folders=folders
        )
        assert written == made
