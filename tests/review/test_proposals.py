"""A proposal reviewed entry by entry, or merged by a host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import git
from effort import sampled

from engram.domain.errors import UsageError
from tests.sync.test_propose import World, propose_twenty, protected_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return protected_world(tmp_path)


def authors(folder: Path) -> dict[str, str]:
    """Return the author of the commit that added each entry, by its id."""
    log = git(folder, "log", "--format=@%an", "--diff-filter=A", "--name-only", "HEAD").splitlines()
    found, name = {}, ""
    for line in log:
        name = line[1:] if line.startswith("@") else name
        if line.endswith(".md"):
            found[line[-29:-3]] = name
    return found


def test_the_entries_of_a_proposal_are_sorted_by_title_not_by_day(world: World) -> None:
    world.record("b", "Zebra crossings are drawn by the town.")
    world.clock.advance(days=1)
    world.record("b", "Apples are picked before the frost.")
    name = world["b"].propose("Town").name
    world["a"].proposals()
    assert [one.title[:5] for one in world["a"].proposal(name).entries] == ["Apple", "Zebra"]


def test_twenty_entries_are_reviewed_twelve_to_eight_on_a_protected_branch(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, name = propose_twenty(world)
    before = git(world.hub, "rev-parse", "main")
    world.sync("b")  # leaves the branch alone while the proposal is open
    assert git(world.hub, "rev-parse", "main") == before

    (listed,) = world["a"].proposals()
    assert (listed.name, listed.title, listed.author, listed.entries) == (name, "Timeouts", "Bob Kahn", 20)
    found = world["a"].proposal(name)
    assert {one.id for one in found.entries} == set(ids)
    assert {(one.kind, one.phrase, one.who) for one in found.entries} == {
        ("new", "new", "tester for Bob Kahn")
    }
    with pytest.raises(UsageError, match="reason"):
        world["a"].decide_proposal(name, [(ids[0], "reject", "")])
    world["a"].decide_proposal(name, [(one, "accept", "") for one in ids[:12]])
    with pytest.raises(UsageError, match="8 of 20"):
        world["a"].finish_proposal(name)
    world["a"].decide_proposal(
        name, [(one, "reject", f"not for {number}") for number, one in enumerate(ids[12:])]
    )
    monkeypatch.setenv("REVIEWER", "ada")
    done = world["a"].finish_proposal(name)
    monkeypatch.delenv("REVIEWER")
    assert (done.accepted, done.rejected, done.pushed) == (12, 8, True)

    (synced,) = world.sync("b")
    assert synced.errors == ()
    assert any(
        "Ada Lovelace reviewed your proposal 'Timeouts': 12 accepted, 8 rejected" in note
        for note in synced.notes
    )
    assert sum("not for" in note for note in synced.notes) == 8
    world.sync("c")
    assert world.ids("a") == world.ids("b") == world.ids("c")
    assert world.ids("b") & set(ids) == set(ids[:12])
    world.assert_equal()
    added = authors(world.hub)
    assert {added[one] for one in ids[:12]} == {"Bob Kahn"}
    assert git(world.hub, "for-each-ref", "refs/heads/engram/proposals") == ""
    assert world["a"].proposals() == []
    with pytest.raises(UsageError, match="nothing to propose"):
        world["b"].propose()
    # What was rejected can be had back, and proposed again.
    note = next(note for note in synced.notes if ids[12] in note)
    world["b"].restore(ids[12], note.rpartition("--at ")[2].rstrip(")"))
    again = world["b"].propose("Once more")
    assert again.entries == 1
    assert git(world.hub, "fsck", "--strict") == ""


@sampled("how", ["squash", "cherry-pick", "merge"])
def test_merging_the_branch_on_the_host_counts_as_a_review(world: World, tmp_path: Path, how: str) -> None:
    ids, name = propose_twenty(world)
    host = tmp_path / "host"
    git(tmp_path, "clone", "-q", str(world.hub), str(host))
    git(host, "config", "user.name", "Web Interface")
    other = world.root("c")
    world.record("c", "Meanwhile the broker was replaced by a smaller one.")
    os.environ["REVIEWER"] = "host"
    try:
        world.sync("c")
        git(host, "pull", "-q")
        if how == "merge":
            git(host, "merge", "-q", "--no-ff", "--no-edit", f"origin/engram/proposals/{name}")
        elif how == "cherry-pick":
            git(
                host,
                "cherry-pick",
                "--allow-empty",
                "--keep-redundant-commits",
                f"main..origin/engram/proposals/{name}",
            )
        else:
            git(host, "merge", "-q", "--squash", f"origin/engram/proposals/{name}")
            git(host, "commit", "-q", "-m", "Timeouts (#1)")
        git(host, "push", "-q", "origin", "main", f":engram/proposals/{name}")
    finally:
        del os.environ["REVIEWER"]
    (synced,) = world.sync("b")
    assert synced.errors == ()
    assert any("Merged: your proposal 'Timeouts': 20 accepted, 0 rejected" in note for note in synced.notes)
    world.sync("a", "c")
    assert world.ids("a") == world.ids("b") == world.ids("c") >= set(ids)
    assert len(world.ids("b")) == 22
    assert all(synced.pushed == 0 and not synced.errors for synced in world.sync("b", "a", "b"))
    if how == "merge":
        world.assert_equal()
        assert {authors(other)[one] for one in ids} == {"Bob Kahn"}
    with pytest.raises(UsageError, match="nothing to propose"):
        world["b"].propose()
    one = world.record("b", "One more thing that was learned afterwards.")
    assert world["b"].propose().entries == 1
    assert {entry.id for entry in world["a"].proposal(world["a"].proposals()[0].name).entries} == {one.id}


def test_a_growing_proposal_keeps_decisions_about_unchanged_entries_only(world: World) -> None:
    first = world.record("b", "The first thing to propose is a longer timeout.").id
    name = world["b"].propose("Two").name
    world["a"].decide_proposal(world["a"].proposals()[0].name, [(first, "accept", "")])
    second = world.record("b", "The second thing to propose is a smaller cache.").id
    assert world["b"].propose().name == name
    found = world["a"].proposal(name)
    assert [(one.id, one.decision) for one in found.entries] == [(first, "accept"), (second, "")]


def test_a_review_that_the_remote_declines_stays_on_the_branch_of_the_proposal(world: World) -> None:
    lore_id = world.record("b", "Only a reviewer may let this in.").id
    name = world["b"].propose("Let in").name
    world["c"].proposals()
    world["c"].decide_proposal(name, [(lore_id, "reject", "too short")])
    done = world["c"].finish_proposal(name)
    assert (done.pushed, done.error is not None) == (False, True)
    assert (
        git(world.hub, "log", "-1", "--format=%an %s", f"engram/proposals/{name}")
        == "Cleo Wade review: Let in"
    )
