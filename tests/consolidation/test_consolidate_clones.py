"""Consolidation on several clones at once: no vote counts twice, and all end with the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, TIDES, record_apart
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sync_kit import Clones

from engram.usecases.review.decisions import decide
from engram.usecases.review.review import review

if TYPE_CHECKING:
    from pathlib import Path

SAME = (
    "Retry with full jitter: a fleet that retries in step brings the broker down again.",
    "Retry with full jitter: a fleet which retries in step brings the broker down again.",
    "Retry with full jitter: the fleet that retries in step brings the broker down again.",
)
ACTIONS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["consolidate", "query", "helpful", "sync", "record"]), st.integers(0, 70)),
    min_size=3,
    max_size=8,
)  # fmt: skip


def confidences(clones: Clones, name: str) -> dict[str, float]:
    return {shown.lore.content: shown.lore.confidence for shown in clones[name].list(limit=None).lore}


@pytest.mark.slow
def test_a_merge_made_by_two_clones_at_once_counts_once(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    clones.record("a", QUEUE)
    clones.record("a", SAME[0])
    clones.sync("a", "b")
    # Not synced as an arrival: the other clone says the same, and nobody folds it by itself.
    record_apart(clones["b"], SAME[1], status="pending")
    clones.settle()
    (item,) = review(clones["b"].store, kinds=["pending"]).items
    decide(clones["b"].store, item, "accept")
    clones.settle()
    clones.clock.advance(days=65)
    for name in "ab":
        plan = clones[name].consolidate()
        assert plan.by_kind == {"merge": 1}
        clones[name].apply(plan)
    clones.settle()
    clones.assert_equal()
    assert confidences(clones, "a") == {QUEUE: 0.68, SAME[0]: 0.80}
    assert clones["a"].consolidate().steps == clones["b"].consolidate().steps == ()


def test_undoing_a_pushed_consolidation_undoes_it_for_all_clones(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    clones.record("a", QUEUE)
    clones.record("a", SAME[0])
    record_apart(clones["a"], SAME[1])
    clones.clock.advance(days=65)
    clones["a"].apply(clones["a"].consolidate())
    clones.settle()
    clones["a"].undo()
    clones.settle()
    clones.assert_equal()
    assert confidences(clones, "b") == {QUEUE: 0.68, SAME[0]: 0.68, SAME[1]: 0.68}


@settings(
    max_examples=examples(1, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ACTIONS)
def test_two_clones_converge_whatever_they_do_in_whatever_order(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, int]]
) -> None:
    clones = Clones(tmp_path_factory.mktemp("clones"))
    for text in (QUEUE, TIDES, *SAME):
        clones.clock.advance(seconds=1)
        record_apart(clones["a"], text)
    clones.settle()
    for name, action, days in actions:
        clones.clock.advance(days=days)
        if action == "consolidate":
            clones[name].apply(clones[name].consolidate())
        elif action == "query":
            clones[name].query("idempotent queue handlers")
        elif action == "helpful":
            clones[name].feedback(helpful=[clones[name].list(sort="title").lore[0].lore.id], again=True)
        elif action == "record":
            clones.record(name, SAME[days % len(SAME)])
        else:
            clones.sync(name)
    clones.settle()
    clones.assert_equal()
    found = [shown.lore for shown in clones["a"].list(limit=None).lore]
    folded = [lore_id for lore in found for lore_id in lore.merged_from]
    assert len(folded) == len({*folded})
    assert {QUEUE, TIDES} < {lore.content for lore in found}
    for lore in found:
        assert lore.conflicts == ()
    assert confidences(clones, "a") == confidences(clones, "b")
