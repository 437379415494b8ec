"""The steps that a consolidation proposes (merge, archive, supersede, promote), and the entries that it leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, TIDES, SetClock, make_plain_store, ok, open_test_store, record_apart

from engram.app import Engram
from engram.usecases.opening.open_store import open_store
from engram.usecases.review.decisions import decide
from engram.usecases.review.review import review
from engram.usecases.store.store import Caller
from tests.consolidation.test_consolidate import JITTER, SAME_JITTER, SLOW, SLOWER

if TYPE_CHECKING:
    from engram.domain.consolidation.plan import Plan


def steps(plan: Plan) -> list[tuple[str, str]]:
    return [(step.kind, step.title) for step in plan.steps if step.selected]


@pytest.fixture
def store(tmp_path: Path, clock: SetClock) -> Engram:
    return open_test_store(make_plain_store(tmp_path / "store"), clock=clock)


def test_equivalent_entries_are_merged_and_near_ones_that_disagree_are_left(store: Engram) -> None:
    first = store.record(JITTER, category="FACT", tags=["retry"]).lore
    second = record_apart(store, SAME_JITTER, tags=("queue",))
    store.record(SLOW, category="FACT")
    store.record(SLOWER, category="FACT")
    record_apart(store, JITTER, "PREFERENCE")
    plan = store.consolidate()
    (step,) = plan.steps
    assert (step.kind, step.lore) == ("merge", (first.id, second.id))
    assert step.result is not None
    assert (step.result.content, step.result.tags) == (JITTER, ("retry", "queue"))
    assert [left.title for left in plan.left] == [SLOW]
    assert "30" in plan.left[0].why
    assert store.list().total == 5
    done = store.apply(plan)
    assert (done.done, done.lore) == ({"merge": 1}, (first.id, second.id))
    assert store.get(first.id).lore == step.result
    assert store.list().total == 4
    assert store.consolidate().steps == ()


def test_an_old_entry_counts_the_uses_of_those_merged_into_it(store: Engram, clock: SetClock) -> None:
    first = store.record(JITTER, category="FACT").lore
    clock.advance(days=170)
    record_apart(store, SAME_JITTER)
    clock.advance(days=20)
    assert steps(store.consolidate(kinds=["archive"])) == [("archive", JITTER)]
    plan = store.consolidate()
    assert plan.by_kind == {"merge": 1}
    store.apply(plan)
    assert store.get(first.id).lore.status == "active"
    assert store.consolidate().steps == ()
    clock.advance(days=170)
    assert store.consolidate().by_kind == {"archive": 1}


def test_a_group_of_stale_entries_is_archived_not_merged(store: Engram, clock: SetClock) -> None:
    store.record(JITTER, category="FACT")
    record_apart(store, SAME_JITTER)
    clock.advance(days=190)
    assert store.consolidate().by_kind == {"archive": 2}
    assert store.consolidate(kinds=["merge"]).by_kind == {"merge": 1}


def test_repetition_by_one_source_adds_no_confidence(store: Engram) -> None:
    store.record(JITTER, category="FACT")
    record_apart(store, SAME_JITTER)
    (step,) = store.consolidate().steps
    assert (step.before, step.after) == (700, 700)


def test_a_group_that_a_person_kept_is_left_alone(store: Engram) -> None:
    store.record(JITTER, category="FACT")
    record_apart(store, SAME_JITTER)
    (item,) = review(store.store, kinds=["duplicate"]).items
    decide(store.store, item, "accept")
    assert store.consolidate().steps == ()


def test_unused_entries_are_archived_and_replaced_ones_superseded(store: Engram, clock: SetClock) -> None:
    stale = store.record(TIDES, category="FACT").lore
    clock.advance(days=170)
    old = store.record(SLOW, category="FACT").lore
    new = store.record(SLOWER, category="FACT", relations=[("supersedes", old.id)]).lore
    clock.advance(days=12)
    plan = store.consolidate()
    assert [(step.kind, step.lore) for step in plan.steps] == [
        ("supersede", (old.id,)),
        ("archive", (stale.id,)),
    ]
    store.apply(plan)
    found = {shown.lore.id: shown.lore.status for shown in store.list().lore}
    assert found == {stale.id: "archived", old.id: "superseded", new.id: "active"}
    assert store.consolidate().steps == ()


def test_used_session_entries_are_promoted_and_to_the_user_scope_only_if_confirmed(
    tmp_path: Path, clock: SetClock
) -> None:
    root = make_plain_store(tmp_path / "store")
    session = Engram(
        open_store(str(root), Caller("s1", "tester"), scope="session", clock=clock), background=False
    )
    learned = session.record(QUEUE, category="FACT", importance=0.6).lore
    session.record(TIDES, category="FACT")
    session.close()
    store = open_test_store(root, clock=clock)
    for _ in range(2):
        ok("query", "idempotent queue handlers", cwd=root)
    plan = store.consolidate()
    (step,) = plan.steps
    assert (step.kind, step.lore, step.to, step.confirm) == ("promote", (learned.id,), "project", False)
    store.apply(plan)
    assert [shown.lore for shown in store.list().lore] == [learned]
    (across,) = store.consolidate(to="user").steps
    assert (across.kind, across.confirm, across.selected) == ("promote", True, False)
    assert store.apply(store.consolidate(to="user")).done == {}
    assert store.apply(store.consolidate(to="user", confirm=["promote"])).done == {"promote": 1}
    assert [one["title"] for one in ok("list", "--scope", "user", "--json", cwd=root).json["lore"]] == [QUEUE]
    assert store.consolidate(to="user").steps == ()
