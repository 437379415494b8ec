"""Settling a conflict: in all clones, with one version or both, and undoing that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from effort import sampled

from tests.sync.two_people import ANN, BOB, Pair

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


@sampled(
    ("decision", "number"),
    [("accept", "7070"), ("take", "9090"), ("mine", "9090"), ("theirs", "7070")],
    everyday=2,
)
def test_one_decision_settles_a_conflict_in_all_clones(pair: Pair, decision: str, number: str) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    pair.decide("a", decision)
    pair.clones.settle()
    pair.clones.assert_equal()
    lore = pair.lore("b")
    assert (number in lore.content, lore.conflicts) == (True, ())
    (settlement,) = lore.settled
    assert (settlement.by, settlement.chose) == (ANN, "kept" if number == "7070" else "other")


def test_both_versions_can_be_kept_one_after_the_other(pair: Pair) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    pair.decide("b", "both")
    assert pair.lore("b").content.startswith(
        "The port of staging is 7070.\nThe port of staging is 9090.\n\nIt is"
    )


def test_different_settlements_in_two_clones_are_a_new_conflict(
    pair: Pair,
) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    pair.decide("a", "mine")
    pair.decide("b", "mine")
    pair.clones.settle()
    pair.clones.assert_equal()
    conflict = pair.conflict()
    assert ("7070" in pair.lore("a").content, "9090" in conflict.value) == (True, True)
    assert (conflict.source, conflict.kept_source, pair.lore("a").settled) == (ANN, BOB, ())
    pair.decide("a", "accept")
    pair.clones.settle()
    pair.clones.assert_equal()
    assert (pair.lore("b").conflicts, "7070" in pair.lore("b").content) == ((), True)


def test_undoing_a_settlement_restores_the_conflict(pair: Pair) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    before = pair.lore("a")
    pair.decide("a", "mine")
    pair.clones["a"].undo()
    after = pair.lore("a")
    assert (after.content, after.conflicts, after.settled) == (before.content, before.conflicts, ())
