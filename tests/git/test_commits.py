"""Commits land whole, exactly as asked, and change nothing but the current branch."""

from __future__ import annotations

import os
import time
from pathlib import Path

import gitkit
import pytest
from effort import examples
from gitkit import (
    AUTHOR,
    MOMENT,
    apply,
    assert_sound,
    change,
    git,
    make_repository,
    open_repository,
    person_commits,
    state_folder,
    status,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.adapters.git.read import objects
from engram.adapters.git.run import layout
from engram.adapters.git.run.layout import Repository, read_head
from engram.adapters.git.write.commits import Commit, commit_all, has_landed
from engram.domain.errors import GitError

LORE = "lore/2026/01/02/a-title--01J0000000000000000000000A.md"
HARD_NAMES = (
    "lore/with space.md",
    'lore/"quoted".md',
    "lore/back\\slash.md",
    "lore/ünï/日本語 🦀.md",
    "lore/:(top)*.md",
    "lore/-dash.md",
    "-x",
    "lore/tab\there.md",
    "lore/line\nend.md",
    "lore/trailing ",
)


pytestmark = pytest.mark.usefixtures("persons_git")


@pytest.fixture(params=["loose refs", "packed refs", "linked worktree", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    options = ("--object-format=sha256",) if request.param == "sha256" else ()
    made = make_repository(tmp_path / "repo", *options)
    person_commits(made, {"code.py": "print()\n", "lore/old.md": "old\n", "lore/deep/er/x.md": "x\n"})
    if request.param == "packed refs":
        git(made, "pack-refs", "--all")
        git(made, "gc", "-q")
    if request.param == "linked worktree":
        git(made, "worktree", "add", "-q", "-b", "engram/lore", str(tmp_path / "linked"))
        return open_repository(tmp_path / "linked")
    return made


@pytest.fixture
def plain(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path / "plain")
    person_commits(made, {"code.py": "print()\n", "lore/old.md": "old\n"})
    return made


def commit(repo: Repository, *what: Commit, marker: str = "OP1", patience: float = 0.0) -> str:
    apply(repo, *what)
    return commit_all(repo, what, marker, state_folder(repo), patience=patience)


def test_new_changed_and_deleted_files_are_committed_and_leave_a_clean_status(repo: Repository) -> None:
    before = read_head(repo)
    oid = commit(
        repo,
        change("Record a title", (LORE, b"body\n"), ("lore/old.md", b"newer\n")),
        change("Forget x", ("lore/deep/er/x.md", None), author=None),
    )
    assert read_head(repo) == (oid, before.branch)
    assert git(repo, "rev-parse", "HEAD", "HEAD~2").splitlines() == [oid, before.oid]
    assert git(repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["code.py", LORE, "lore/old.md"]
    assert git(repo, "show", f"HEAD:{LORE}") == "body"
    assert status(repo) == ""
    assert_sound(repo)
    assert [name for name in os.listdir(state_folder(repo)) if not name.startswith("own-moves-")] == []


def test_author_committer_time_and_trailer_are_as_given(plain: Repository) -> None:
    commit(
        plain,
        change("Record\n\nWhy.\n\nEngram-Lore: 01J0", (LORE, b"1")),
        change("Again", (LORE, b"2"), author=None),
    )
    show = "--format=%an <%ae>|%cn <%ce>|%at|%ct|%B"
    first, second = git(plain, "log", "-1", show, "HEAD~1"), git(plain, "log", "-1", show)
    pat = "Pat Person <pat@example.org>"
    assert first == f"{AUTHOR}|{pat}|{MOMENT}|{MOMENT}|Record\n\nWhy.\n\nEngram-Lore: 01J0\nEngram-Op: OP1"
    assert second == f"{pat}|{pat}|{MOMENT}|{MOMENT}|Again\n\nEngram-Op: OP1"


def test_without_any_configured_person_engram_commits(
    plain: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    commit(plain, change("x", (LORE, b"1"), author=None))
    assert git(plain, "log", "-1", "--format=%an <%ae> %cn <%ce>") == " ".join(
        ["Engram <engram@localhost>"] * 2
    )


@pytest.mark.parametrize(
    "author", ["claude-code", "a <b> <c>\nparent 123", "<x@y>", "\x00 <\x00>", "Ö <o@x>"]
)
def test_an_unusual_author_never_breaks_a_commit(plain: Repository, author: str) -> None:
    commit(plain, change("x", (LORE, b"1"), author=author))
    assert git(plain, "log", "-1", "--format=%an").strip()
    assert_sound(plain)


@pytest.mark.parametrize("options", [(), ("--object-format=sha256",)])
def test_the_first_commit_of_a_branch(tmp_path: Path, options: tuple[str, ...]) -> None:
    repo = make_repository(tmp_path / "new", *options)
    oid = commit(repo, change("First", (LORE, b"1")))
    assert git(repo, "rev-list", "--all") == oid
    assert status(repo) == ""
    assert_sound(repo)


def test_the_first_commit_of_an_orphan_branch_in_a_linked_worktree(plain: Repository, tmp_path: Path) -> None:
    main = read_head(plain)
    git(plain, "worktree", "add", "-q", "--detach", "--no-checkout", str(tmp_path / "hidden"))
    repo = open_repository(tmp_path / "hidden")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/engram/lore")
    commit(repo, change("First", (LORE, b"1")))
    assert git(repo, "ls-tree", "-r", "--name-only", "engram/lore") == LORE
    assert (status(repo), status(plain), read_head(plain)) == ("", "", main)


def test_commits_that_change_nothing_are_left_out(plain: Repository) -> None:
    head = read_head(plain).oid
    same = change("same", ("lore/old.md", b"old\n"), ("lore/never.md", None))
    assert commit_all(plain, [same], "OP1", state_folder(plain)) == head
    assert not has_landed(plain, "OP1")
    again = change("2", ("lore/old.md", b"new\n"))
    commit(plain, same._replace(changes=same.changes[:1]), change("1", ("lore/old.md", b"new\n")), again)
    assert git(plain, "log", "--format=%s").splitlines() == ["1", "by hand"]


def test_no_changes_on_a_branch_without_commits_make_no_commit(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "new")
    assert commit_all(repo, [], "OP1", state_folder(repo)) == ""
    assert commit_all(repo, [change("x", ("a", None))], "OP1", state_folder(repo)) == ""
    assert not has_landed(repo, "OP1")


def test_a_file_created_and_deleted_in_one_batch_leaves_two_commits_and_no_file(plain: Repository) -> None:
    commit_all(plain, [change("1", (LORE, b"1")), change("2", (LORE, None))], "OP1", state_folder(plain))
    assert git(plain, "log", "--format=%s").splitlines() == ["2", "1", "by hand"]
    assert status(plain) == ""
    assert_sound(plain)


def test_file_names_that_are_hard_to_quote_are_committed(repo: Repository) -> None:
    what = change("hard", *((name, name.encode()) for name in HARD_NAMES))
    commit(repo, what)
    found = git(repo, "ls-tree", "-rz", "--name-only", "HEAD").split("\0")
    assert set(HARD_NAMES) <= set(found)
    assert status(repo) == ""
    commit(repo, change("gone", *((name, None) for name in HARD_NAMES)))
    assert status(repo) == ""
    assert not set(HARD_NAMES) & set(git(repo, "ls-tree", "-rz", "--name-only", "HEAD").split("\0"))


@pytest.mark.parametrize(
    "path", ["", "/etc/x", "../x", "a/../b", ".git/config", "a/.GIT/hooks/x", "a//b", "a\0b", "./a"]
)
def test_a_path_outside_the_tree_is_refused(plain: Repository, path: str) -> None:
    head = read_head(plain)
    with pytest.raises(GitError, match="not a path"):
        commit_all(plain, [change("x", (path, b"1"))], "OP1", state_folder(plain))
    assert read_head(plain) == head


def test_a_file_can_replace_a_folder_and_a_folder_a_file(plain: Repository) -> None:
    commit(plain, change("1", ("lore/a/b.md", b"1"), ("lore/c", b"1")))
    commit(plain, change("2", ("lore/a/b.md", None), ("lore/c", None)))
    Path(plain.worktree, "lore/a").rmdir()
    commit(plain, change("3", ("lore/a", b"2"), ("lore/c/d.md", b"2")))
    assert status(plain) == ""
    assert_sound(plain)


def test_an_executable_file_keeps_its_mode(plain: Repository) -> None:
    tool = Path(plain.worktree, "tool")
    tool.write_text("1")
    tool.chmod(0o755)
    git(plain, "add", "tool")
    git(plain, "commit", "-qm", "tool")
    commit(plain, change("x", ("tool", b"2")))
    assert git(plain, "ls-tree", "HEAD", "tool").startswith("100755")
    assert status(plain) == ""


def test_no_hook_runs_and_nothing_is_signed_or_converted(
    plain: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gitkit.isolate(
        monkeypatch,
        tmp_path,
        "[commit]\n\tgpgSign = true\n[core]\n\tautocrlf = true\n[gpg]\n\tprogram = false\n",
    )
    for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        file = Path(plain.git_dir, "hooks", hook)
        file.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran-{hook}'\nexit 1\n")
        file.chmod(0o755)
    gitkit.write(plain, ".gitattributes", "lore/** -text\n")
    commit(plain, change("crlf", (LORE, b"a\r\nb\n"), (".gitattributes", b"lore/** -text\n")))
    assert list(tmp_path.glob("ran-*")) == []
    assert "gpgsig" not in git(plain, "cat-file", "commit", "HEAD")
    git(plain, "-c", "core.hooksPath=/nowhere", "checkout", "-q", "HEAD~1")
    git(plain, "-c", "core.hooksPath=/nowhere", "checkout", "-q", "main")
    assert Path(plain.worktree, LORE).read_bytes() == b"a\r\nb\n"
    assert status(plain) == ""


def test_inherited_git_variables_do_not_divert_a_commit(
    plain: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repository(tmp_path / "other")
    with monkeypatch.context() as patch:
        patch.setenv("GIT_DIR", other.git_dir)
        patch.setenv("GIT_INDEX_FILE", str(tmp_path / "foreign-index"))
        patch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
        oid = commit(plain, change("x", (LORE, b"1")))
    assert read_head(plain).oid == oid
    assert read_head(other).oid is None
    assert not (tmp_path / "foreign-index").exists()
    assert status(plain) == ""


@pytest.mark.parametrize(
    ("command", "word"), [(("checkout", "--detach"), "detached"), (("merge", "other"), "merge"), (("rebase", "other"), "rebase")]
)  # fmt: skip
def test_a_commit_is_refused_while_a_person_is_at_work(
    plain: Repository, command: tuple[str, ...], word: str
) -> None:
    git(plain, "checkout", "-q", "-b", "other")
    person_commits(plain, {"code.py": "theirs\n"})
    git(plain, "checkout", "-q", "main")
    person_commits(plain, {"code.py": "ours\n"})
    git(plain, *command, check=False)
    before = git(plain, "for-each-ref"), status(plain)
    with pytest.raises(GitError, match=word) as caught:
        commit_all(plain, [change("x", (LORE, b"1"))], "OP1", state_folder(plain))
    assert "nothing was committed" in caught.value.message
    assert "try again" in caught.value.hint
    assert (git(plain, "for-each-ref"), status(plain)) == before


def test_an_operation_that_has_landed_is_found_by_its_trailer(plain: Repository) -> None:
    commit(plain, change("x", (LORE, b"1")), marker="OP1")
    git(plain, "commit", "-q", "--allow-empty", "-m", "Engram-Op: OP10 in a subject\n\nx Engram-Op: OP11")
    assert has_landed(plain, "OP1")
    assert not has_landed(plain, "OP")
    assert not has_landed(plain, "OP10")
    assert not has_landed(plain, "OP11")
    assert has_landed(plain, "OP1", depth=2)
    assert not has_landed(plain, "OP1", depth=1)


def test_an_operation_that_came_in_by_a_merge_has_landed(plain: Repository) -> None:
    git(plain, "checkout", "-q", "-b", "side")
    commit(plain, change("x", (LORE, b"1")), marker="SIDE")
    git(plain, "checkout", "-q", "main")
    git(plain, "merge", "-q", "--no-ff", "--no-edit", "side")
    assert has_landed(plain, "SIDE")


def test_300_commits_are_written_in_one_batch(plain: Repository) -> None:
    many = [
        change(f"commit {n}", (f"lore/2026/01/{n % 28 + 1:02}/n-{n}.md", b"%d\n" % n)) for n in range(300)
    ]
    apply(plain, *many)
    began = time.process_time(), os.times()
    commit_all(plain, many, "OP1", state_folder(plain))
    ended = time.process_time(), os.times()
    children = (
        ended[1].children_user + ended[1].children_system - began[1].children_user - began[1].children_system
    )
    assert git(plain, "rev-list", "--count", "HEAD") == "301"
    assert status(plain) == ""
    assert_sound(plain)
    assert ended[0] - began[0] + children < 5, "CPU seconds; a git process per commit takes longer"


@pytest.mark.parametrize("whole_tree", [100, objects.WHOLE_TREE])
def test_a_commit_may_change_more_files_than_fit_on_a_command_line(
    plain: Repository, whole_tree: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "WHOLE_TREE", whole_tree)
    count = objects.PATHS_PER_CALL * 2 + 1
    commit(plain, change("many", *((f"lore/n-{n}.md", b"1") for n in range(count))))
    commit(plain, change("same again", *((f"lore/n-{n}.md", b"1") for n in range(count))))
    commit(plain, change("half", *((f"lore/n-{n}.md", None if n % 2 else b"2") for n in range(count))))
    assert git(plain, "log", "--format=%s").splitlines() == ["half", "many", "by hand"]
    assert status(plain) == ""


def test_a_full_state_folder_or_lost_rights_are_told(plain: Repository, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    from engram.domain.errors import StoreError

    with pytest.raises(StoreError, match="cannot be"):
        commit_all(plain, [change("x", (LORE, b"1"))], "OP1", str(tmp_path / "file" / "state"))
    assert not Path(plain.git_dir, "index.lock").exists()
    assert git(plain, "log", "--format=%s") == "by hand"


def test_the_branch_can_be_pulled_and_pushed_by_plain_git(plain: Repository, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", plain.worktree, "clone")
    commit(plain, change("x", (LORE, b"1")))
    clone = open_repository(tmp_path / "clone")
    git(clone, "-c", "fetch.fsckObjects=true", "pull", "-q", "--ff-only")
    assert layout.read_head(clone).oid == layout.read_head(plain).oid


contents = st.none() | st.binary(max_size=20)
names = st.sampled_from(["lore/a.md", "lore/b.md", "lore/d/c.md", "lore/d/e/f.md", "g.md"])


@settings(max_examples=examples(8, 60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    groups=st.lists(
        st.lists(st.dictionaries(names, contents, min_size=1), min_size=1, max_size=4), max_size=4
    )
)
def test_any_sequence_of_groups_ends_in_the_files_it_describes(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[dict[str, bytes | None]]]
) -> None:
    repo = make_repository(tmp_path_factory.mktemp("any"))
    expected: dict[str, bytes] = {}
    for number, group in enumerate(groups):
        made = [change(f"c{number}", *each.items()) for each in group]
        for each in group:
            for path, content in each.items():
                gitkit.write(repo, path, content) if content is not None else Path(
                    repo.worktree, path
                ).unlink(missing_ok=True)
                expected.pop(path, None) if content is None else expected.__setitem__(path, content)
        commit_all(repo, made, f"OP{number}", state_folder(repo))
    held = objects.entries(repo, read_head(repo).oid, expected)
    assert held == {path: ("100644", objects.blob_oid(content, "sha1")) for path, content in expected.items()}
    assert status(repo) == ""
    assert_sound(repo)
