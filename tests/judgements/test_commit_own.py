"""Own lines are committed to the branch of judgements and nothing else changes; who may publish them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import prepared
import pytest
from apikit import SetClock, git
from ledger_kit import BRANCH, REF, Judges, append, files_of, ids, judge, lines_at, open_test_store

import engram
from engram.adapters.files import config_file, places
from engram.adapters.git.run import process
from engram.domain.errors import ConfigError, GitError
from engram.domain.judgements import ledger
from engram.domain.settings import check, key_named, parse_value
from engram.usecases.judgements.commit_own import (
    COMMIT_SECONDS,
    commit_if_due,
    commit_own,
    seconds_until_due,
)
from engram.usecases.judgements.exchange import exchange
from engram.usecases.judgements.publishing import may_publish
from engram.usecases.opening.init import init

PLACEMENTS = ("dedicated", "branch", "in-tree")


def commits(root: Path) -> int:
    return int(git(root, "rev-list", "--count", BRANCH))


def everything_else(root: Path) -> list[str]:
    """What git knows of a repository beside the branch of judgements."""
    refs = git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    logs = [
        f"{file.relative_to(root)} {file.read_text()}"
        for file in sorted((root / ".git/logs").rglob("*"))
        if file.is_file()
    ]
    kept = [line for line in (*refs, *logs) if BRANCH not in line.split(" ")[0]]
    index = (root / ".git/index").read_bytes().hex() if (root / ".git/index").exists() else ""
    return [
        *kept,
        git(root, "--no-optional-locks", "status", "--porcelain", "-uall"),
        git(root, "symbolic-ref", "HEAD"),
        index,
    ]


def test_own_lines_are_one_commit_with_attributes_and_the_name_and_a_second_call_starts_no_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judges = Judges(tmp_path / "scene", "a")
    said = judge(judges["a"], 5)
    assert commit_own(judges["a"])
    source = judges["a"].source_id
    path = ledger.path_of(source, said[0].id)
    assert files_of(judges.root("a")) == [".gitattributes", path, ledger.name_path(source)]
    assert git(judges.root("a"), "show", f"{BRANCH}:.gitattributes") == "* -text merge=union"
    assert git(judges.root("a"), "show", f"{BRANCH}:{ledger.name_path(source)}") == "Engram Test"
    assert git(judges.root("a"), "log", "-1", "--format=%an %ct", BRANCH).startswith("Engram Test")
    assert lines_at(judges.root("a")).keys() == ids(said)
    assert commits(judges.root("a")) == 1
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(process, "listeners", [lambda words, *_: started.append(words)])
    assert not commit_own(judges["a"])
    assert started == []
    judge(judges["a"], 3)
    assert commit_own(judges["a"])
    assert commits(judges.root("a")) == 2


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_committing_touches_nothing_but_the_branch_in_any_placement_and_work_tree(
    tmp_path: Path, placement: str
) -> None:
    root = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    (root / "code.py").write_text("1\n")
    (root / ".gitignore").write_text("wt\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "code")
    if placement == "dedicated":
        shutil.rmtree(root)
    init(str(root), placement=placement)
    (root / "code.py").write_text("changed\n")  # uncommitted work
    git(root, "worktree", "add", "-q", "-b", "other", "wt")
    before = everything_else(root)
    said = []
    for store in (open_test_store(root), open_test_store(root / "wt")):
        said += judge(store)
        assert commit_own(store)
    assert everything_else(root) == before
    assert lines_at(root).keys() == ids(said)
    assert git(root, "fsck", "--strict", "--no-progress", "--no-dangling") == ""


def test_without_git_or_judgements_no_branch_is_created(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/.engram.toml").write_text("")
    plain = open_test_store(tmp_path / "plain")
    judge(plain)
    assert not commit_own(plain)
    assert not any(exchange(plain, publish=True))
    judges = Judges(tmp_path / "scene", "a")
    assert not commit_own(judges["a"])
    assert not judges.exchange("a")[0].sent
    assert git(judges.hub, "for-each-ref", REF) == ""


def test_an_incomplete_line_is_committed_only_when_it_is_complete(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "a")
    said = judge(judges["a"])
    path = ledger.path_of(said[0].source, said[0].id)
    next_line = ledger.render(said[0]._replace(id=said[0].id[:-4] + "ZZZZ"))
    append(judges["a"], path, next_line[:40])
    assert commit_own(judges["a"])
    assert not commit_own(judges["a"])
    append(judges["a"], path, next_line[40:])
    assert commit_own(judges["a"])
    assert len(lines_at(judges.root("a"))) == 2


@pytest.mark.parametrize("then", [["branch", "-D", BRANCH], ["update-ref", REF, "{first}"]])
def test_a_deleted_or_reset_branch_gets_its_lines_back_with_the_next_commit(
    tmp_path: Path, then: list[str]
) -> None:
    judges = Judges(tmp_path / "scene", "a")
    said = judge(judges["a"])
    commit_own(judges["a"])
    first = git(judges.root("a"), "rev-parse", BRANCH)
    said += judge(judges["a"])
    commit_own(judges["a"])
    git(judges.root("a"), *(word.format(first=first) for word in then))
    assert commit_own(judges["a"])
    assert lines_at(judges.root("a")).keys() == ids(said)


def test_opting_out_of_names_publishes_none_and_removes_a_published_one(tmp_path: Path, home: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    judge(judges["a"])
    judges.exchange("a", "b")
    who = ledger.name_path(judges["a"].source_id)
    assert who in files_of(judges.root("b"))
    config_file.change(places.user_config_file(), "judgements.name", False)
    nameless = open_test_store(judges.root("a"))
    assert commit_own(nameless)
    assert not commit_own(nameless)
    assert (
        git(judges.root("a"), "log", "-1", "--format=%an %ae %cn", BRANCH) == "Engram engram@localhost Engram"
    )
    exchange(nameless, publish=True)
    judges.exchange("b")
    assert who not in files_of(judges.root("b"))


def test_the_branch_is_left_alone_while_a_person_has_it_checked_out(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "a")
    judge(judges["a"])
    commit_own(judges["a"])
    git(judges.root("a"), "worktree", "add", "-q", str(tmp_path / "look"), BRANCH)
    said = judge(judges["a"])
    with pytest.raises(GitError, match="is checked out in"):
        commit_own(judges["a"])
    assert git(tmp_path / "look", "status", "--porcelain") == ""
    shutil.rmtree(tmp_path / "look")  # not pruned yet
    assert commit_own(judges["a"])
    assert said[0].id in lines_at(judges.root("a"))


def test_a_branch_with_other_content_is_neither_written_nor_merged(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    git(judges.root("a"), "branch", BRANCH, "main")
    main = git(judges.root("a"), "rev-parse", "main")
    judge(judges["a"])
    with pytest.raises(GitError, match="holds none"):
        commit_own(judges["a"])
    git(judges.root("a"), "push", "-q", "origin", BRANCH)
    judge(judges["b"])
    commit_own(judges["b"])
    with pytest.raises(GitError, match="holds none"):
        judges.exchange("b")
    assert git(judges.hub, "rev-parse", BRANCH) == git(judges.root("a"), "rev-parse", BRANCH) == main


def test_a_branch_that_blocks_the_name_is_reported_with_a_hint(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "a")
    git(judges.root("a"), "branch", "engram")
    judge(judges["a"])
    with pytest.raises(GitError, match="There is a branch engram") as raised:
        commit_own(judges["a"])
    assert "judgements.branch" in raised.value.hint


@pytest.mark.parametrize("failing", [False, True])
def test_own_commits_are_signed_if_the_person_signs_and_merges_are_not(tmp_path: Path, failing: bool) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    for name in "ab":
        root = judges.root(name)
        key = tmp_path / f"key-{name}"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        git(root, "config", "commit.gpgsign", "true")
        git(root, "config", "gpg.format", "ssh")
        git(root, "config", "user.signingkey", str(tmp_path / "no-key" if failing else key))
        judge(judges[name])
        commit_own(judges[name])
        assert ("gpgsig" in git(root, "cat-file", "commit", BRANCH)) is not failing
    judges.exchange("a", "b")
    assert "gpgsig" not in git(judges.root("b"), "cat-file", "commit", BRANCH)
    assert len(lines_at(judges.hub)) == 2


# Leave to publish


def test_publishing_is_decided_by_setting_then_ci_then_placement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    dedicated = Judges(tmp_path / "scene", "a").root("a")
    code = tmp_path / "code"
    git(tmp_path, "init", "-q", str(code))
    init(str(code), placement="in-tree")
    assert may_publish(open_test_store(dedicated)) == "yes"
    assert may_publish(open_test_store(code)) == "ask"
    monkeypatch.setenv("CI", "true")
    assert may_publish(open_test_store(dedicated)) == "no"
    config_file.change(places.user_config_file(), "judgements.publish", "true")
    assert may_publish(open_test_store(dedicated)) == may_publish(open_test_store(code)) == "yes"
    monkeypatch.delenv("CI")
    config_file.change(places.user_config_file(), "judgements.publish", "false")
    assert may_publish(open_test_store(dedicated)) == "no"


def test_the_file_of_a_store_can_forbid_publishing_but_not_enable_it(tmp_path: Path) -> None:
    key = key_named("judgements.publish")
    assert not key.counts_in_a_store("true")
    assert key.counts_in_a_store("false")
    assert check("judgements.publish", True, "file") == parse_value(key, "true") == "true"
    for name in ("", "a b", "-x", "a..b", "a//b", "a.lock", "engram/lore", "HEAD", "x~1", ".a/b"):
        with pytest.raises(ConfigError):
            check("judgements.branch", name, "file")
    assert check("judgements.branch", "users/me/judgements", "file")


def test_a_program_commits_its_judgements_together_when_it_closes(tmp_path: Path) -> None:
    root = prepared.dedicated(tmp_path / "store")
    clock = SetClock()
    with engram.open(root, session="one", clock=clock, background=True) as store:
        lore_id = store.record("Retries need jitter.", category="FACT").lore.id
        for _ in range(3):
            store.feedback(helpful=lore_id, again=True)
    assert len(lines_at(root)) == 3
    count = int(git(root, "rev-list", "--count", BRANCH))
    assert count <= 2, "the first at once, the others together"
    with engram.open(root, session="two", clock=clock, background=True) as store:
        assert store.get(lore_id).lore.validation_count == 3
    assert int(git(root, "rev-list", "--count", BRANCH)) == count


def test_lines_wait_for_others_for_ten_minutes_at_most(tmp_path: Path) -> None:
    judges = Judges(tmp_path, "a")
    store = judges["a"]
    assert seconds_until_due(store) is None
    judge(store)
    assert seconds_until_due(store) == 0, "the first ones need not wait"
    commit_if_due(store)
    assert seconds_until_due(store) is None
    judge(store)
    assert 0 < (seconds_until_due(store) or 0) <= COMMIT_SECONDS
    commit_if_due(store)
    assert len(lines_at(judges.root("a"))) == 1
    judges.clock.advance(seconds=COMMIT_SECONDS)
    commit_if_due(store)
    assert len(lines_at(judges.root("a"))) == 2
