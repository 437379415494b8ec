"""Lore on a branch of its own: shared by all worktrees of a code repository, never in the way of the code's branches."""

from __future__ import annotations

import shutil
from pathlib import Path

import prepared
import pytest
from apikit import QUEUE, TIDES, cli, git, lore_files, make_plain_store, ok, repository

from engram.domain.errors import StoreError, UsageError
from engram.usecases.opening.init import init

BRANCH = "engram/lore"
JUDGEMENTS = "engram/judgements"
PULLED = '[store]\nplacement = "branch"\nfolder = "lore"\n'


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code repository that keeps its lore on a branch."""
    return made(tmp_path / "code")


def made(root: Path) -> Path:
    prepared.copy("code with lore on a branch", root, lambda place: init(str(repository(place))))
    refresh_index(root)
    return root


def refresh_index(root: Path) -> None:
    """Tell git that the files of a copy are those of the original, in both work trees."""
    for place in (root, hidden(root)):
        git(place, "update-index", "--refresh")


def hidden(root: Path) -> Path:
    return root / ".git/engram/worktree"


def record(root: Path, text: str = QUEUE, *options: str) -> str:
    return str(ok("record", text, "-c", "fact", *options, "--json", cwd=root).json["lore"]["id"])


def subjects(root: Path, branch: str = BRANCH) -> list[str]:
    return git(root, "log", "--format=%s", branch).splitlines()


def listed(root: Path) -> int:
    return len(ok("list", "--scope", "project", "--json", cwd=root).json["lore"])


def code_state(root: Path) -> tuple[object, ...]:
    """All that is the code's own: branches but those of lore and judgements, tags, index, files."""
    own = (BRANCH, JUDGEMENTS)
    refs = [line for line in git(root, "for-each-ref").splitlines() if not line.endswith(own)]
    files = {
        path: path.read_bytes() for path in root.rglob("*") if path.is_file() and ".git" not in path.parts
    }
    index, status = (root / ".git/index").read_bytes(), git(root, "status", "--porcelain", "--ignored")
    return refs, files, index, status


# --- making it


def test_init_in_a_repository_leaves_branches_index_and_files_alone(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    before = code_state(root)
    said = ok("init", cwd=root / "src").out.splitlines()
    assert said[0] == f"Made a store at {hidden(root)}"
    assert said[1].startswith("Branch: ")
    assert "--to in-tree" in said[2]
    assert "--to dedicated" in said[2]
    record(root)
    ok("query", "queue consumer", cwd=root)
    ok("feedback", "--helpful", "L1", cwd=root)
    ok("doctor", "--fix", cwd=root)
    assert code_state(root) == before
    assert subjects(root) == [f"record: {QUEUE}", "Start an Engram store"]
    assert git(root, "merge-base", "--all", "HEAD", BRANCH, check=False) == ""
    assert git(root, "ls-tree", "--name-only", BRANCH).split() == [".engram.toml", ".gitattributes", "lore"]


def test_init_twice_changes_nothing_and_other_placements_are_refused(code: Path) -> None:
    before = git(code, "for-each-ref"), code_state(code)
    again = ok("init", "--json", cwd=code / "src").json
    assert (again["existed"], again["store"]["placement"]) == (True, "branch")
    for placement in ("in-tree", "dedicated"):
        refused = cli("init", "--placement", placement, cwd=code)
        assert refused.code in (1, 2)
    assert "engram move --to in-tree" in cli("init", "--placement", "in-tree", cwd=code).err
    assert (git(code, "for-each-ref"), code_state(code)) == before


def test_a_repository_without_commits_can_have_one(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    init(str(tmp_path))
    record(tmp_path)
    assert subjects(tmp_path)[0] == f"record: {QUEUE}"
    assert git(tmp_path, "status", "--porcelain") == ""


def test_a_branch_whose_name_is_in_the_way_is_told(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    git(root, "branch", "engram")
    refused = cli("init", cwd=root)
    assert refused.code == 1
    assert "git branch -m engram" in refused.err
    git(root, "branch", "-m", "engram", "other")
    git(root, "branch", BRANCH)
    with pytest.raises(StoreError, match="holds no store"):
        init(str(root))
    assert not hidden(root).exists()


def test_outside_a_repository_there_is_no_branch(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not inside a git repository"):
        init(str(tmp_path), placement="branch")
    assert list(tmp_path.iterdir()) == []


# --- finding it


def test_all_worktrees_and_subfolders_share_one_store(code: Path, tmp_path: Path) -> None:
    git(code, "worktree", "add", "-q", str(tmp_path / "one"))
    git(code, "worktree", "add", "-q", str(tmp_path / "two"))
    lore = record(tmp_path / "one", QUEUE, "--file", "src/main.py")
    found = ok("query", "queue consumer", "--file", "src/main.py", "--json", cwd=tmp_path / "two/src").json
    assert [(one["id"], one["files"]) for one in found["lore"]] == [(lore, ["src/main.py"])]
    ok("feedback", "--helpful", "L1", cwd=code)  # refs are the repository's, not a worktree's
    stores = {ok("status", "--json", cwd=at).json["store"]["path"] for at in (code, tmp_path / "one/src")}
    assert stores == {str(hidden(code))}
    assert git(tmp_path / "one", "status", "--porcelain") == ""


def test_asking_starts_no_git(code: Path) -> None:
    record(code)
    ok("query", "queue consumer", cwd=code)
    assert ok("query", "queue consumer", "--json", cwd=code / "src", PATH="").json["lore"]


def test_the_nearest_store_wins(code: Path, tmp_path: Path) -> None:
    make_plain_store(tmp_path)
    record(code / "src")
    assert len(lore_files(hidden(code))) == 1, "the repository is nearer than what is around it"
    make_plain_store(code / "docs", '[store]\nplacement = "in-tree"\n')
    record(code / "docs", TIDES)
    assert len(lore_files(code / "docs")) == 1
    assert (listed(code), listed(tmp_path)) == (1, 0)


def test_a_store_among_the_files_stays_what_it_is(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    init(str(root), placement="in-tree")
    again = ok("init", "--json", cwd=root / "src").json
    assert (again["existed"], again["store"]) == (True, {"path": str(root), "placement": "in-tree"})
    assert "move --to branch" in cli("init", "--placement", "branch", cwd=root / "src").err
    assert git(root, "branch", "--list", BRANCH) == ""


def test_a_pulled_file_alone_never_makes_engram_commit(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    make_plain_store(root, PULLED)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "pulled")
    before = git(root, "for-each-ref")
    record(root)
    assert ok("status", "--json", cwd=root).json["store"]["placement"] == "in-tree"
    assert git(root, "for-each-ref") == before


def test_a_bare_repository_that_was_pulled_is_not_asked(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    git(root, "init", "-q", "--bare", "evil")
    (root / "evil/engram/worktree").mkdir(parents=True)
    (root / "evil/engram/branch").mkdir()
    make_plain_store(root / "evil/engram/worktree", PULLED)
    for folder in (root / "evil", root / "evil/engram"):
        assert cli("list", "--scope", "project", cwd=folder).code == 3
    status = ok("status", "--json", cwd=root / "evil/engram/worktree").json
    assert status["store"]["placement"] == "plain"


def test_a_bare_repository_and_the_worktrees_of_one(tmp_path: Path) -> None:
    repository(tmp_path / "code")
    git(tmp_path, "clone", "-q", "--bare", "code", "bare.git")
    init(str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "-q", "../tree", "-b", "x")
    record(tmp_path / "tree")
    assert listed(tmp_path / "bare.git") == 1
    assert subjects(tmp_path / "bare.git")[0] == f"record: {QUEUE}"
    assert ok("doctor", cwd=tmp_path / "tree").out == "All is well.\n"


@pytest.mark.slow
def test_a_submodule_has_a_store_of_its_own(code: Path, tmp_path: Path) -> None:
    repository(tmp_path / "part")
    git(code, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "part"), "part")
    record(code)
    assert cli("list", "--scope", "project", cwd=code / "part").code == 3
    init(str(code / "part/src"))
    record(code / "part", TIDES)
    assert (listed(code), listed(code / "part/src")) == (1, 1)
    assert subjects(code / "part")[0] == f"record: {TIDES}"


# --- what people do to their repository


def test_a_deleted_branch_is_told_and_nothing_is_lost(code: Path) -> None:
    record(code)
    last = git(code, "rev-parse", BRANCH)
    git(code, "update-ref", "-d", f"refs/heads/{BRANCH}")
    done = cli("record", TIDES, "-c", "fact", cwd=code)
    assert done.code == 0
    assert f"git branch {BRANCH} {last}" in done.err
    assert "was deleted" in ok("status", cwd=code).out
    assert cli("sync", cwd=code).code == 4
    assert git(code, "branch", "--list", BRANCH) == ""
    git(code, "branch", BRANCH, last)
    ok("doctor", "--fix", cwd=code)
    assert subjects(code)[0] == f"record: {TIDES}"
    shutil.rmtree(hidden(code))
    git(code, "worktree", "unlock", str(hidden(code)))
    git(code, "update-ref", "-d", f"refs/heads/{BRANCH}")
    refused = cli("list", cwd=code)
    assert (refused.code, "was deleted" in refused.err) == (1, True)


def test_no_commit_goes_to_another_branch(code: Path) -> None:
    git(code, "branch", "feature")
    git(hidden(code), "checkout", "-q", "feature")
    make_plain_store(hidden(code))
    before = git(code, "rev-parse", "feature")
    done = cli("record", QUEUE, "-c", "fact", cwd=code)
    assert f"switch {BRANCH}" in done.err
    assert git(code, "rev-parse", "feature") == before


def test_the_branch_checked_out_by_somebody_is_told(code: Path, tmp_path: Path) -> None:
    record(code)
    shutil.rmtree(code / ".git/engram")
    shutil.rmtree(code / ".git/worktrees")
    git(code, "worktree", "add", "-q", str(tmp_path / "mine"), BRANCH)
    with pytest.raises(StoreError, match=r"is checked out at .*mine"):
        init(str(code))
    git(code, "worktree", "remove", str(tmp_path / "mine"))
    init(str(code))
    assert listed(code) == 1
