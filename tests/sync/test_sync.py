"""Two and three clones change the same entries and sync: by field, exactly, with equal bytes everywhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import git
from sync_kit import (
    SOON,
    TEXT,
    Clones,
    executable,
    files,
    make_clones,
    make_connected_store,
    push_from_outside,
)

from engram.domain.errors import RemoteError, SyncBlockedError
from engram.usecases.recording.edit import Edit
from engram.usecases.sync.sync import Options, sync


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def shared(clones: Clones, text: str) -> str:
    """An entry that every clone has; its id."""
    lore = clones.record("a", text)
    clones.settle()
    return lore.id


def test_votes_of_two_clones_add_up(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    for name in "ab":
        clones[name].feedback(helpful=[lore])
    clones.settle()
    clones.assert_equal()
    found = clones["b"].get(lore).lore
    assert (found.confidence, found.validation_count) == (0.86, 2)


def test_helpful_against_incorrect(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    clones["a"].feedback(helpful=[lore])
    clones["b"].feedback(incorrect=[lore])
    first, second = clones.sync("a", "b")
    assert (first.pushed, first.sent_judgements, first.received_judgements) == (0, True, False)
    assert (second.merged, second.sent_judgements, second.received_judgements) == (0, True, True)
    clones.settle()
    clones.assert_equal()
    assert clones["a"].get(lore).lore.confidence == 0.63


def test_edits_of_different_paragraphs_are_both_kept(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    path = clones["a"].get(lore).path
    clones.edit("a", path, "Queue consumers", "All queue consumers")
    clones.edit("b", path, "late.", "late: after 30 s.")
    clones.settle()
    clones.assert_equal()
    found = clones["a"].get(lore).lore
    assert found.content == TEXT.replace("Queue", "All queue").replace("late.", "late: after 30 s.")
    assert found.conflicts == ()


def test_both_versions_of_one_sentence_are_kept(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path, "Retries need jitter.")
    path = clones["a"].get(lore).path
    clones.edit("a", path, "need jitter", "need full jitter")
    clones.edit("b", path, "need jitter", "need jitter of 20 %")
    done = clones.sync("a", "b")
    assert done[1].conflicts == 1
    clones.settle()
    clones.assert_equal()
    found = clones["a"].get(lore).lore
    texts = {found.content, found.conflicts[0].value}
    assert texts == {"Retries need full jitter.", "Retries need jitter of 20 %."}


def test_a_push_alone_after_others_have_pushed_says_to_sync(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    for name in "ab":
        clones[name].edit(lore, Edit(add_tags=(name,)))
    clones.sync("b")
    with pytest.raises(RemoteError, match="origin has commits that are not here yet") as failed:
        clones["a"].sync(pull=False)
    assert failed.value.hint.startswith("`engram sync` merges them")
    clones.settle()
    clones.assert_equal()


def test_an_edit_outlives_a_deletion_and_a_vote_does_not(tmp_path: Path) -> None:
    clones, edited = make_clones(tmp_path)
    voted = shared(clones, "Another lesson.")
    clones["a"].forget(edited, voted)
    clones.edit("b", clones["b"].get(edited).path, "twice", "three times")
    clones["b"].feedback(helpful=[voted])
    clones.settle()
    clones.assert_equal()
    left = clones["a"].list(limit=None).lore
    assert [shown.lore.id for shown in left] == [edited]
    assert [entry.field for entry in left[0].lore.conflicts] == ["deleted"]


def test_entries_recorded_in_each_clone_reach_the_other(clones: Clones) -> None:
    for name in "ab":
        clones.record(name, f"Learnt in {name}.")
    clones.settle()
    clones.assert_equal()
    assert clones["a"].list().total == 2
    assert clones["a"].query("learnt", min_confidence=0.0).lore


def test_a_branch_of_something_else_is_refused(tmp_path: Path) -> None:
    clones = Clones(tmp_path, "")
    git(clones.hub, "clone", "-q", str(clones.hub), str(tmp_path / "code"))
    (tmp_path / "code/main.py").write_text("print()\n")
    git(tmp_path / "code", "add", ".")
    git(tmp_path / "code", "commit", "-q", "-m", "code")
    git(tmp_path / "code", "push", "-q", "origin", "HEAD:main")
    mine = make_connected_store(tmp_path / "a", clones.hub, clones.clock)
    before = files(tmp_path / "a")
    with pytest.raises(SyncBlockedError, match="shares no history"):
        sync(mine.store, Options())
    assert files(tmp_path / "a") == before


def test_a_hand_edit_that_was_not_committed_is_merged_too(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    path = clones["a"].get(lore).path
    clones.edit("a", path, "Queue", "Work queue")
    clones["b"].feedback(helpful=[lore])
    clones.sync("b", "a", "b")
    clones.assert_equal()
    found = clones["b"].get(lore).lore
    assert found.confidence == 0.78
    assert found.content.startswith("Work queue")


def test_an_edit_that_cannot_be_committed_stops_the_sync_and_stays(tmp_path: Path) -> None:
    from apikit import SECRET

    clones, lore = make_clones(tmp_path)
    path = clones["a"].get(lore).path
    clones.edit("a", path, "Queue", f"token {SECRET} Queue")
    edited = (clones.root("a") / path).read_bytes()
    clones["b"].edit(lore, Edit(add_tags=("broker",)))
    clones.sync("b")
    with pytest.raises(SyncBlockedError, match="cannot be committed"):
        clones.sync("a")
    assert (clones.root("a") / path).read_bytes() == edited


def test_folders_that_become_empty_are_removed(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    clones["a"].forget(lore)
    clones.sync("a", "b")
    assert [path for path in (clones.root("b") / "lore").rglob("*") if path.is_dir()] == []


def test_files_that_plain_git_pushed_come_in(tmp_path: Path) -> None:
    clones, _ = make_clones(tmp_path)
    push_from_outside(clones.hub, tmp_path / "plain", {"lore/dropped.md": "Dropped by hand.\n", "NOTES": "x"})
    done = clones.sync("a")[0]
    assert done.pulled == 1
    assert files(clones.root("a"))["NOTES"] == b"x"
    assert clones["a"].query("dropped by hand", min_confidence=0.0).lore


def test_a_remote_whose_default_branch_does_not_exist_is_cloned_by_the_branch_there_is(
    clones: Clones,
) -> None:
    """As for a bare repository made with the default branch master."""
    from engram.usecases.placement.clone import clone

    clones.record("a")
    clones.settle()
    git(clones.hub, "symbolic-ref", "HEAD", "refs/heads/master")
    made = clone(str(clones.hub), str(clones.folder / "late"))
    assert not made.empty
    assert made.lore == len(clones["a"].list().lore)
    assert git(clones.folder / "late", "status", "--porcelain", "--branch").splitlines() == [
        "## main...origin/main"
    ]
    clones.stores["late"] = clones.add_opened("late")
    clones.record("late")
    clones.settle()
    clones.assert_equal()


def test_a_new_clone_knows_at_once_what_others_judged(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    clones["a"].feedback(helpful=[lore])
    clones.sync("a")
    clones.stores["c"] = clones.add("c")
    assert clones["c"].get(lore).lore.validation_count == 1
    clones["c"].feedback(helpful=[lore])
    clones.settle()
    clones.assert_equal()
    assert clones["a"].get(lore).lore.validation_count == 2


def test_the_branch_of_judgements_is_never_taken_for_that_of_lore(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    clones["a"].feedback(helpful=[lore])
    clones.sync("a")
    git(clones.hub, "symbolic-ref", "HEAD", "refs/heads/engram/judgements")
    clones.stores["c"] = clones.add("c")
    assert git(clones.root("c"), "symbolic-ref", "HEAD") == "refs/heads/main"
    assert clones["c"].get(lore).lore.validation_count == 1
    # Somebody deleted the lore there: a clone begins anew, another one brings back what it has.
    git(clones.hub, "update-ref", "-d", "refs/heads/main")
    clones.stores["d"] = clones.add("d")
    assert clones["d"].list().total == 0
    clones.settle()
    clones.assert_equal()
    assert clones["d"].get(lore).lore.validation_count == 1


def test_a_merge_is_pushed_while_it_is_applied_here(clones: Clones) -> None:
    """The remote's hook waits until this clone has the merge: pushing afterwards would wait for ever."""
    lore = clones.record("a")
    clones.settle()
    for name in "ab":
        clones[name].edit(lore.id, Edit(add_tags=(name,)))
    clones.sync("a")
    here = clones.folder / "here"
    os.mkfifo(here)
    executable(
        clones.hub / "hooks/pre-receive",
        f'#!/bin/sh\nread -r head < "{here}"\necho "$head" > "{here}.head"\n',
    )

    def listen(step: str) -> None:
        if step == "indexing":
            here.write_text(git(clones.root("b"), "rev-parse", "HEAD") + "\n", "ascii")

    done = sync(clones["b"].store, SOON, listen)
    assert (done.merged, done.pushed, done.errors) == (1, 1, ())
    (clones.hub / "hooks/pre-receive").unlink()
    clones.sync("a")
    clones.assert_equal()
    assert (clones.folder / "here.head").read_text("ascii").strip() in clones.heads()
