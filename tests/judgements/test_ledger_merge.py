"""Judgements merged by real git: unrelated histories, copies of a clone, erased lines, clashing files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from apikit import git
from ledger_kit import BRANCH, REF, Judges, files_of, ids, judge, lines_at, open_test_store, tree_of

from engram.domain.judgements import erasure, ledger
from engram.usecases.judgements.commit_own import commit_own
from engram.usecases.judgements.exchange import exchange, merge


def test_two_clones_merge_unrelated_histories_into_the_same_commit(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    said = judge(judges["a"], 2) + judge(judges["b"], 3)
    tips = {}
    for name in "ab":
        commit_own(judges[name])
        tips[name] = git(judges.root(name), "rev-parse", BRANCH)
    git(judges.root("a"), "fetch", "-q", str(judges.root("b")), f"{REF}:refs/other")
    git(judges.root("b"), "fetch", "-q", str(judges.root("a")), f"{REF}:refs/other")
    assert merge(judges["a"], [tips["b"]])
    assert merge(judges["b"], [tips["a"]])
    assert git(judges.root("a"), "rev-parse", BRANCH) == git(judges.root("b"), "rev-parse", BRANCH)
    assert lines_at(judges.root("a")).keys() == ids(said)
    assert not merge(judges["a"], [tips["b"]])


def test_two_judgement_branches_merged_by_plain_git_are_read_correctly(
    tmp_path: Path,
) -> None:
    judges = Judges(tmp_path / "scene", "a")
    said = judge(judges["a"])
    judges.exchange("a")
    copy = tmp_path / "copy"  # of the clone with its identity: both write the same file
    shutil.copytree(judges.root("a"), copy)
    other = open_test_store(copy, judges.clock)
    said += judge(judges["a"], 2) + judge(other, 3)
    commit_own(judges["a"])
    commit_own(other)
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", "-b", BRANCH, str(copy), str(work))
    git(work, "fetch", "-q", str(judges.root("a")), REF)
    git(work, "merge", "-q", "--no-edit", "FETCH_HEAD")
    assert lines_at(work, "HEAD").keys() == ids(said)
    git(work, "push", "-q", str(judges.hub), f"HEAD:{REF}")
    exchange(other, publish=True)
    judges.exchange("a")
    exchange(other, publish=True)
    assert tree_of(copy) == tree_of(judges.root("a")) == tree_of(judges.hub)
    assert lines_at(judges.hub).keys() == ids(said)


def test_a_third_clone_merges_what_two_copies_of_a_clone_wrote_to_one_file(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    said = judge(judges["a"])
    judges.exchange("a", "b")
    shutil.copytree(judges.root("a"), tmp_path / "copy")
    tips = []
    for store, count in ((judges["a"], 2), (open_test_store(tmp_path / "copy", judges.clock), 3)):
        said += judge(store, count)
        commit_own(store)
        git(judges.root("b"), "fetch", "-q", store.places.root, REF)
        tips.append(git(judges.root("b"), "rev-parse", "FETCH_HEAD"))
    assert merge(judges["b"], tips)
    assert lines_at(judges.root("b")).keys() == ids(said)


def test_lost_lines_of_another_clone_are_restored_by_any_clone_that_has_them(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "abc")
    said = judge(judges["a"])
    judges.exchange("a", "b")
    shutil.rmtree(judges.root("a"))
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", "-b", BRANCH, str(judges.hub), str(work))
    git(work, "rm", "-qr", "--", *(path for path in files_of(work, "HEAD") if path.endswith(".jsonl")))
    git(work, "commit", "-qm", "drop them")
    git(work, "push", "-q")
    assert lines_at(judges.hub) == {}
    judges.exchange("b", "c")
    assert lines_at(judges.root("c")).keys() == ids(said)
    assert git(judges.hub, "merge-base", "--is-ancestor", git(work, "rev-parse", "HEAD"), BRANCH) == ""


@pytest.mark.slow
def test_erased_lines_are_removed_everywhere_and_restored_by_nobody(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "abc")
    kept, gone = judge(judges["a"], 2), judge(judges["b"], 2)
    judges.settle()
    erased = {judges["b"].source_id, kept[0].id}
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", "-b", BRANCH, str(judges.hub), str(work))
    (work / ledger.ERASED).write_bytes(erasure.render(erased))
    git(work, "add", "-A")
    git(work, "commit", "-qm", "erase")
    git(work, "push", "-q")
    late = judge(judges["b"]) + judge(judges["c"])
    judges.settle()
    assert lines_at(judges.hub).keys() == {kept[1].id, late[1].id}
    assert ledger.name_path(judges["b"].source_id) not in files_of(judges.hub)
    assert not ids(gone) & lines_at(judges.root("b")).keys()
    assert len({tree_of(judges.root(name)) for name in "abc"}) == 1


def test_two_lists_of_erased_ids_are_united_and_other_lines_stay(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    said = judge(judges["a"], 3)
    judges.settle()
    for name, number in (("a", 0), ("b", 1)):
        work = tmp_path / f"work-{name}"
        git(tmp_path, "clone", "-q", "-b", BRANCH, str(judges.root(name)), str(work))
        (work / ledger.ERASED).write_bytes(erasure.render({said[number].id}))
        git(work, "add", "-A")
        git(work, "commit", "-qm", "erase")
        git(work, "push", "-q", "origin", BRANCH)
    judges.settle()
    assert lines_at(judges.hub).keys() == {said[2].id}
    assert erasure.parse(git(judges.hub, "show", f"{BRANCH}:erased").encode()) == {said[0].id, said[1].id}


def test_a_file_that_clashes_with_a_folder_of_ledgers_is_removed_in_every_clone(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    said = judge(judges["a"])
    commit_own(judges["a"])
    folder = judges["a"].source_id[10:12]
    work = tmp_path / "work"
    judge(judges["b"])
    judges.exchange("b")
    git(tmp_path, "clone", "-q", "-b", BRANCH, str(judges.hub), str(work))
    shutil.rmtree(work / folder, ignore_errors=True)
    (work / folder).write_text("in the way")
    (work / "README.md").write_text("Judgements.")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "odd")
    git(work, "push", "-q")
    judges.settle()
    assert ids(said) <= lines_at(judges.hub).keys()
    assert "README.md" in files_of(judges.hub)
    assert tree_of(judges.root("a")) == tree_of(judges.root("b"))
