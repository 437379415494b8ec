"""Entries of others that a person pulled with git are quarantined once, when they arrive."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import git
from apikit import open_test_store as opened_plain
from storekit import commit
from sync_kit import SOON, Clones, make_clones

from engram.usecases.admission.incoming_quarantine import quarantine_pulled
from engram.usecases.sync.sync import sync
from tests.admission.test_quarantine import hold
from tests.judgements.test_in_tree import clones_of_code, person_commits

MARK = Path(".git/engram/weighed-up-to")


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return make_clones(tmp_path, "The first of all notes.")[0]


def learn(clones: Clones, text: str) -> str:
    """Something that `b` records and sends."""
    lore = clones.record("b", text)
    clones.sync("b")
    return lore.id


def waiting(clones: Clones) -> list[str]:
    from engram.usecases.store.quarantine import is_quarantined

    store = clones["a"].store
    return [shown.lore.id for shown in clones["a"].list(limit=None).lore if is_quarantined(store, shown.lore)]


def reopened(clones: Clones) -> None:
    """`a` reads its settings."""
    clones["a"].close()
    clones.stores["a"] = clones.add_opened("a")


def test_pulled_entries_are_quarantined_and_counted_once(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    reopened(clones)
    root, store = clones.root("a"), clones["a"].store
    found = {learn(clones, "The archive has two doors."), learn(clones, "The cellar has none.")}
    assert quarantine_pulled(store) == 0, "nothing is there yet"
    git(root, "fetch", "-q", "origin")
    assert quarantine_pulled(store) == 0, "it was fetched and nothing else"
    git(root, "merge", "-q", "--ff-only", "origin/main")
    assert quarantine_pulled(store) == 2
    assert set(waiting(clones)) == found
    assert (root / MARK).read_text().strip() == git(root, "rev-parse", "origin/main")
    assert quarantine_pulled(store) == 0


def test_entries_of_this_clone_in_the_same_pull_are_not_quarantined(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    reopened(clones)
    root, a = clones.root("a"), clones["a"]
    mine = clones.record("a", "My own archive has no door.").id
    commit(a)
    theirs = learn(clones, "The archive has two doors.")
    git(root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert quarantine_pulled(a.store) == 1
    assert waiting(clones) == [theirs]
    assert mine not in waiting(clones)


@pytest.mark.parametrize("kind", ["foreign", "unsigned"])
@pytest.mark.parametrize("way", ["sync", "push"])
def test_entries_pushed_by_this_clone_are_not_quarantined_later(
    clones: Clones, home: Path, way: str, kind: str
) -> None:
    hold(home, kind)
    reopened(clones)
    root, a = clones.root("a"), clones["a"]
    for text in ("The archive has two doors.", "The cellar has none."):
        clones.record("a", text)
        if way == "sync":
            clones.sync("a")
        else:
            commit(a)
            git(root, "push", "-q", "origin", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "by hand")
    assert len(a.query("archive doors cellar").lore) == 2
    assert (quarantine_pulled(a.store), waiting(clones)) == (0, [])


def test_between_two_own_pushes_only_entries_of_others_are_quarantined(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    reopened(clones)
    root, a = clones.root("a"), clones["a"]
    theirs = []
    for number in range(2):
        clones.record("a", f"My own archive has door {number}.")
        commit(a)
        git(root, "push", "-q", "origin", "main")
        clones.sync("b")
        theirs.append(learn(clones, f"The cellar has window {number}."))
        git(root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    clones.record("a", "My own archive has no window.")
    commit(a)
    git(root, "push", "-q", "origin", "main")
    assert quarantine_pulled(a.store) == 2
    assert sorted(waiting(clones)) == sorted(theirs)


@pytest.mark.parametrize("pull", [True, False])
def test_entries_pulled_by_hand_are_quarantined_even_if_a_sync_pushes_next(
    clones: Clones, home: Path, pull: bool
) -> None:
    hold(home, "foreign")
    reopened(clones)
    root, a = clones.root("a"), clones["a"]
    theirs = learn(clones, "The cellar has a window.")
    clones.record("a", "My own archive has a door.")
    commit(a)
    git(root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert sync(a.store, SOON._replace(pull=pull)).pushed == 1
    assert waiting(clones) == [theirs]
    git(root, "commit", "-q", "--allow-empty", "-m", "by hand")
    assert (quarantine_pulled(a.store), waiting(clones)) == (0, [theirs])


def test_without_a_reflog_of_the_remote_branch_all_of_it_is_checked(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    reopened(clones)
    root, a = clones.root("a"), clones["a"]
    theirs = learn(clones, "The cellar has a window.")
    git(root, "pull", "-q", "--ff-only", "origin", "main")
    (root / ".git/logs/refs/remotes/origin/main").unlink()
    assert quarantine_pulled(a.store) == 1
    assert waiting(clones) == [theirs]


def test_entries_from_before_the_setting_are_not_quarantined_later(clones: Clones, home: Path) -> None:
    root = clones.root("a")
    before = learn(clones, "The archive has two doors.")
    git(root, "pull", "-q", "--ff-only", "origin", "main")
    assert quarantine_pulled(clones["a"].store) == 0
    assert (root / MARK).read_text().strip() == git(root, "rev-parse", "origin/main")
    hold(home, "foreign")
    reopened(clones)
    assert quarantine_pulled(clones["a"].store) == 0
    after = learn(clones, "The cellar has none.")
    git(root, "pull", "-q", "--ff-only", "origin", "main")
    assert quarantine_pulled(clones["a"].store) == 1
    assert waiting(clones) == [after]
    assert before not in waiting(clones)


def test_a_clone_without_a_watermark_starts_with_the_present_entries(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    reopened(clones)
    root, store = clones.root("a"), clones["a"].store
    learn(clones, "The archive has two doors.")
    git(root, "pull", "-q", "--ff-only", "origin", "main")
    (root / MARK).unlink()
    assert quarantine_pulled(store) == 0
    assert waiting(clones) == []
    assert (root / MARK).read_text().strip() == git(root, "rev-parse", "origin/main")


def test_an_error_is_left_to_the_next_call(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    reopened(clones)
    root, store = clones.root("a"), clones["a"].store
    theirs = learn(clones, "The archive has two doors.")
    git(root, "pull", "-q", "--ff-only", "origin", "main")
    blob = git(root, "rev-parse", f"HEAD:{clones['b'].get(theirs).path}")
    there, away = root / ".git/objects" / blob[:2] / blob[2:], root / "away"
    there.rename(away)
    assert quarantine_pulled(store) == 0
    away.rename(there)
    assert quarantine_pulled(store) == 1
    assert waiting(clones) == [theirs]


def test_entries_pulled_into_a_code_repository_are_not_quarantined(tmp_path: Path, home: Path) -> None:
    hold(home, "foreign")
    clones_of_code(tmp_path)
    root, other = tmp_path / "a", tmp_path / "b"
    with opened_plain(root) as mine, opened_plain(other) as theirs:
        assert quarantine_pulled(mine.store) == 0
        theirs.record("The archive has two doors.", category="FACT")
        person_commits(other, "main", "a note")
        git(root, "pull", "-q", "--ff-only", "origin", "main")
        assert quarantine_pulled(mine.store) == 0
        assert len(mine.query("doors of the archive").lore) == 1


def test_nothing_is_checked_on_no_branch_and_without_a_repository(
    clones: Clones, home: Path, tmp_path: Path
) -> None:
    hold(home, "foreign")
    reopened(clones)
    root = clones.root("a")
    learn(clones, "The archive has two doors.")
    git(root, "pull", "-q", "--ff-only", "origin", "main")
    git(root, "checkout", "-q", "--detach")
    assert quarantine_pulled(clones["a"].store) == 0
    git(root, "checkout", "-q", "main")
    assert quarantine_pulled(clones["a"].store) == 1
    with opened_plain(tmp_path / "plain") as plain:
        assert quarantine_pulled(plain.store) == 0
