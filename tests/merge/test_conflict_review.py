"""A conflict decided without commits is reviewed once these exist."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from apikit import git
from effort import sampled

from tests.sync.two_people import ANN, BOB, Pair

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def rewritten_by(how: str, pair: Pair, *, hand_edit_is_later: bool) -> None:
    """Bob's clone gets Ann's words below his own hand edit by plain git; the driver sees files alone there."""
    start = pair.clones.clock.now()
    pair.clones.clock.advance(hours=2)
    pair.edit("a", "8080", "9090")
    pair.clones.sync("a")
    root, path = pair.clones.root("b"), pair.clones["b"].get(pair.id).path
    pair.clones.edit("b", path, "8080", "7070")
    when = start + timedelta(hours=3 if hand_edit_is_later else 1)
    git(root, "fetch", "-q", "origin")
    branch = git(root, "branch", "--show-current")
    if how == "stash":
        git(root, "stash", "-q")
        git(root, "merge", "-q", "--ff-only", f"origin/{branch}")
        git(root, "stash", "pop", "-q")
        git(root, "commit", "-qam", "port", "--date", when.isoformat())
        return
    git(root, "commit", "-qam", "port", "--date", when.isoformat())
    if how == "rebase":
        git(root, "rebase", "-q", f"origin/{branch}")
    else:
        git(root, "branch", "aside")
        git(root, "reset", "-q", "--hard", f"origin/{branch}")
        git(root, "cherry-pick", "aside")


@sampled(
    ("how", "is_later"),
    [(how, later) for how in ("rebase", "cherry-pick", "stash") for later in (True, False)],
    everyday=2,
)
def test_a_conflict_decided_without_commits_is_reviewed_by_the_next_sync(
    pair: Pair, how: str, is_later: bool
) -> None:
    rewritten_by(how, pair, hand_edit_is_later=is_later)
    (before,) = pair.lore("b").conflicts
    assert "9090" in pair.lore("b").content, "his file has the earlier `updated_at`"
    assert (before.source, before.kept_source) == ("", "")
    pair.clones.clock.advance(hours=4)
    pair.clones.sync("b")
    pair.clones.settle()
    pair.clones.assert_equal()
    conflict = pair.conflict()
    assert ("7070" if is_later else "9090") in pair.lore("a").content
    assert (conflict.kept_source, conflict.source) == ((BOB, ANN) if is_later else (ANN, BOB))
    assert ("9090" if is_later else "7070") in conflict.value
    head = git(pair.clones.root("b"), "rev-parse", "HEAD")
    pair.clones.settle()
    assert git(pair.clones.root("b"), "rev-parse", "HEAD") == head, "and then no more"


def test_text_written_since_is_not_replaced_by_the_review(pair: Pair) -> None:
    rewritten_by("rebase", pair, hand_edit_is_later=True)
    pair.edit("b", "9090", "6060")
    pair.clones.settle()
    assert "6060" in pair.lore("a").content
    assert (pair.conflict().kept_source, pair.conflict().source) == (ANN, BOB)
