"""Finding a repository and reading HEAD from files gives what git itself says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gitkit import git, make_repository, open_repository, person_commits, repository_of

from engram.adapters.git.run import layout
from engram.adapters.git.run.layout import Head, Repository, find_repository, operation_in_progress, read_head
from engram.domain.errors import GitError

pytestmark = pytest.mark.usefixtures("persons_git")


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return repository_of(tmp_path / "repo", {"a.txt": "one\n"})


def as_git_says(folder: Path | str) -> tuple[str, str, str]:
    words = (
        "rev-parse",
        "--path-format=absolute",
        "--show-toplevel",
        "--absolute-git-dir",
        "--git-common-dir",
    )
    top, git_dir, common = git(folder, *words).splitlines()
    return top, git_dir, os.path.realpath(common)


def test_a_repository_is_found_from_any_depth_and_from_a_path_that_does_not_exist(repo: Repository) -> None:
    deep = Path(repo.worktree, "x", "y")
    deep.mkdir(parents=True)
    assert find_repository(str(deep)) == repo
    assert find_repository(str(deep / "not" / "there.md")) == repo
    assert (repo.worktree, repo.git_dir, repo.common_dir) == as_git_says(deep)
    assert repo.worktree_name == "main"


def test_a_linked_worktree_has_its_own_git_dir_and_the_shared_one(repo: Repository, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    linked = open_repository(tmp_path / "linked")
    assert (linked.worktree, linked.git_dir, linked.common_dir) == as_git_says(linked.worktree)
    assert linked.worktree_name == "linked"
    assert linked.common_dir == repo.git_dir
    assert read_head(linked).branch == "side"
    assert read_head(linked).oid == read_head(repo).oid


def test_a_worktree_hidden_under_the_git_dir_is_found_but_the_git_dir_itself_is_not(repo: Repository) -> None:
    hidden = Path(repo.git_dir, "engram", "worktree")
    git(repo, "worktree", "add", "-q", "--detach", str(hidden))
    assert open_repository(hidden).worktree_name == "worktree"
    assert find_repository(str(hidden.parent)) is None
    assert find_repository(os.path.join(repo.git_dir, "hooks")) is None


def test_a_submodule_is_a_repository_of_its_own(repo: Repository, tmp_path: Path) -> None:
    outer = make_repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repo.worktree, "inner")
    inner = open_repository(Path(outer.worktree, "inner"))
    assert (inner.worktree, inner.git_dir, inner.common_dir) == as_git_says(inner.worktree)
    assert inner.worktree_name == "main"
    assert read_head(inner) == read_head(repo)


def test_a_bare_repository_is_not_found_but_its_linked_worktree_is(repo: Repository, tmp_path: Path) -> None:
    project = tmp_path / "project"
    git(tmp_path, "clone", "-q", "--bare", repo.worktree, str(project / ".git"))
    assert find_repository(str(project / ".git" / "refs")) is None
    assert find_repository(str(project)) is None
    git(project, "worktree", "add", "-q", str(project / "tree"), "main")
    assert open_repository(project / "tree").common_dir == str(project / ".git")


def test_a_git_file_that_points_nowhere_hides_the_repository_further_out(repo: Repository) -> None:
    inner = Path(repo.worktree, "inner")
    inner.mkdir()
    (inner / ".git").write_text("gitdir: /nowhere/at/all\n")
    assert find_repository(str(inner)) is None


def test_an_empty_git_folder_is_passed_over_as_git_does(repo: Repository) -> None:
    inner = Path(repo.worktree, "inner")
    (inner / ".git").mkdir(parents=True)
    assert find_repository(str(inner)) == repo
    assert as_git_says(inner)[0] == repo.worktree


def test_no_repository_up_to_the_root_gives_none(tmp_path: Path) -> None:
    assert find_repository(str(tmp_path)) is None


def test_links_are_resolved_so_that_one_repository_has_one_name(repo: Repository, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(repo.worktree)
    assert find_repository(str(tmp_path / "alias")) == repo


def test_head_of_a_new_repository_is_a_branch_without_commit(tmp_path: Path) -> None:
    assert read_head(make_repository(tmp_path / "new")) == Head(None, "main")


@pytest.mark.parametrize("branch", ["main", "feature/deep/er", "ünïcode"])
def test_head_is_read_from_loose_and_packed_refs(repo: Repository, branch: str) -> None:
    git(repo, "checkout", "-q", "-B", branch)
    oid = person_commits(repo, {"b.txt": "two\n"})
    assert read_head(repo) == Head(oid, branch)
    git(repo, "branch", f"{branch}-longer", "HEAD~1")
    git(repo, "tag", branch, "HEAD~1")
    git(repo, "pack-refs", "--all")
    assert not Path(repo.git_dir, "refs", "heads", branch).exists()
    assert read_head(repo) == Head(oid, branch)
    newer = person_commits(repo, {"b.txt": "three\n"})
    assert read_head(repo) == Head(newer, branch)


def test_head_follows_a_branch_that_is_a_symbolic_ref(repo: Repository) -> None:
    git(repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/alias")
    assert read_head(repo) == Head(git(repo, "rev-parse", "HEAD"), "alias")


def test_refs_in_a_reftable_are_read_by_git(tmp_path: Path) -> None:
    tmp_path.joinpath("r").mkdir()
    git(tmp_path / "r", "init", "-q", "-b", "main", "--ref-format=reftable", check=False)
    if find_repository(str(tmp_path / "r")) is None:
        pytest.skip("this git is older than 2.45 and has no reftables")
    repo = open_repository(tmp_path / "r")
    assert read_head(repo) == Head(None, "main")
    oid = person_commits(repo, {"a.txt": "1"})
    assert read_head(repo) == Head(oid, "main")
    assert operation_in_progress(repo) is None
    git(repo, "checkout", "-q", "--detach")
    assert operation_in_progress(repo) == "detached"


@pytest.mark.parametrize(("file", "content"), [("refs/heads/main", ""), ("HEAD", "nonsense"), ("HEAD", None)])
def test_a_damaged_head_is_an_error_and_not_taken_for_an_empty_branch(
    repo: Repository, file: str, content: str | None
) -> None:
    damaged = Path(repo.git_dir, file)
    damaged.unlink() if content is None else damaged.write_text(content)
    with pytest.raises(GitError, match="damaged"):
        read_head(repo)


@pytest.fixture
def torn(repo: Repository) -> Repository:
    """Two branches that conflict in a.txt, several commits each."""
    git(repo, "checkout", "-q", "-b", "other")
    person_commits(repo, {"a.txt": "theirs\n"})
    person_commits(repo, {"c.txt": "more\n"})
    git(repo, "checkout", "-q", "main")
    person_commits(repo, {"a.txt": "ours\n"})
    return repo


@pytest.mark.parametrize(
    ("command", "state", "end"),
    [
        (("merge", "other"), "merge", ("merge", "--abort")),
        (("rebase", "other"), "rebase", ("rebase", "--abort")),
        (("rebase", "--apply", "other"), "rebase", ("rebase", "--abort")),
        (("cherry-pick", "other~1"), "cherry-pick", ("cherry-pick", "--abort")),
        (("cherry-pick", "other~2..other"), "cherry-pick", ("cherry-pick", "--abort")),
        (("revert", "--no-edit", "other~1"), "revert", ("revert", "--abort")),
        (("bisect", "start", "HEAD", "HEAD~1"), "bisect", ("bisect", "reset")),
        (("checkout", "-q", "--detach"), "detached", ("checkout", "-q", "main")),
    ],
)
def test_an_operation_under_way_is_seen_until_it_ends(
    torn: Repository, command: tuple[str, ...], state: str, end: tuple[str, ...]
) -> None:
    assert operation_in_progress(torn) is None
    git(torn, *command, check=False)
    assert operation_in_progress(torn) == state
    git(torn, *end)
    assert operation_in_progress(torn) is None


def test_a_cherry_pick_of_several_is_seen_after_its_conflict_was_committed(torn: Repository) -> None:
    git(torn, "cherry-pick", "other~2..other", check=False)
    git(torn, "checkout", "--theirs", "a.txt")
    git(torn, "commit", "-qam", "resolved by hand")
    assert not Path(torn.git_dir, "CHERRY_PICK_HEAD").exists()
    assert operation_in_progress(torn) == "cherry-pick"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[core]\n\tbare = true\n", "true"),
        ("[core]\n\tbare = true\n[core]\n\tbare = false\n", "false"),
        ('[core "x"]\n\tbare = true\n', None),
        ("[CORE] Bare=YES\n", "yes"),
        ("[other]\n\tbare = true\n", None),
    ],
)
def test_a_setting_is_read_with_the_last_value_winning(text: str, value: str | None) -> None:
    assert layout._find_setting(text, "core", "bare") == value
