"""Consolidation: a plan is rehearsed, applied once, and undone byte for byte."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import (
    QUEUE,
    TIDES,
    SetClock,
    lore_files,
    make_plain_store,
    masked,
    ok,
    open_test_store,
    record_apart,
)

from engram.domain.errors import ConflictError, NotFoundError, UsageError
from engram.usecases.recording.edit import Edit

if TYPE_CHECKING:
    from engram.app import Engram

JITTER = "Retry with full jitter: a fleet that retries in step brings the broker down again."
SAME_JITTER = "Retry with full jitter: a fleet which retries in step brings the broker down again."
SLOW = (
    "Set the timeout of the billing client to 30 seconds, because the gateway of the bank is slow at night."
)
SLOWER = SLOW.replace("30", "90")


def contents(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in lore_files(root)}


@pytest.fixture
def store(tmp_path: Path, clock: SetClock) -> Engram:
    return open_test_store(make_plain_store(tmp_path / "store"), clock=clock)


def test_a_fresh_store_has_nothing_to_consolidate(store: Engram) -> None:
    assert store.consolidate().steps == ()
    store.record(QUEUE, category="FACT")
    assert store.consolidate().steps == ()


def test_entries_lose_a_hundredth_for_each_idle_month_without_any_step_of_a_plan(
    store: Engram, clock: SetClock
) -> None:
    lore = store.record(QUEUE, category="FACT").lore
    pinned = store.record(TIDES, category="FACT", pinned=True).lore
    episodic = store.record("The nightly job failed on the third of the month.", category="FAILURE").lore
    clock.advance(days=30)
    assert store.consolidate().steps == ()
    clock.advance(days=65)
    assert store.consolidate().steps == ()
    assert store.get(lore.id).lore.confidence == store.list().lore[-1].lore.confidence == 0.67
    assert store.get(pinned.id).lore.confidence == store.get(episodic.id).lore.confidence == 0.70
    assert store.get(lore.id).lore.updated_at == lore.updated_at


def test_a_step_that_would_cost_a_query_a_helpful_entry_is_withheld(store: Engram, clock: SetClock) -> None:
    helpful = store.record(QUEUE, category="FACT").lore
    other = store.record(TIDES, category="FACT").lore
    store.query("idempotent queue handlers")
    store.feedback(helpful=[helpful.id])
    clock.advance(days=200)
    plan = store.consolidate()
    assert [step.lore for step in plan.steps] == [(other.id,)]
    (withheld,) = plan.withheld
    assert (withheld.step.kind, withheld.lore, withheld.query) == (
        "archive",
        helpful.id,
        "idempotent queue handlers",
    )
    assert (plan.rehearsal.queries, plan.rehearsal.unchanged) == (1, 1)


def test_the_rehearsal_predicts_every_answer_after_applying(store: Engram, clock: SetClock) -> None:
    texts = [
        JITTER, SAME_JITTER, SLOW, QUEUE, TIDES, "The broker is restarted by hand when the fleet retries too much.",
        "Jitter buffers of the audio player hold forty frames.", "A queue that is full drops the oldest message.",
    ]  # fmt: skip
    for text in texts:
        clock.advance(days=20)
        record_apart(store, text)
    queries = [
        "retry with jitter",
        "queue messages",
        "the broker",
        "timeout of the billing client",
        "tide tables",
    ]
    for query in queries:
        store.query(query)
    clock.advance(days=120)
    plan = store.consolidate()
    assert "merge" in {step.kind for step in plan.steps}
    foretold = {difference.query: difference.after for difference in plan.rehearsal.differences}
    host = {one: step.lore[0] for step in plan.steps if step.kind == "merge" for one in step.lore}
    before = {query: tuple([host.get(one, one) for one in ids(store, query)]) for query in queries}
    store.apply(plan)
    for query in queries:
        assert ids(store, query) == foretold.get(query, before[query])
    told = plan.rehearsal
    assert told.unchanged + told.shorter + told.longer + told.changed == told.queries == len(queries)
    assert told.shorter


def ids(store: Engram, query: str) -> tuple[str, ...]:
    return tuple([hit.lore.id for hit in store.query(query, keep=False).lore])


def test_steps_are_skipped_by_id_and_kind_and_have_the_same_ids_each_time(
    store: Engram, clock: SetClock
) -> None:
    for text in (QUEUE, TIDES, SLOW):
        store.record(text, category="FACT")
    clock.advance(days=200)
    plan = store.consolidate()
    assert store.consolidate().steps == plan.steps
    first = plan.steps[0]
    assert [step.selected for step in store.consolidate(skip=[first.id[:8]]).steps] == [False, True, True]
    assert not any(step.selected for step in store.consolidate(skip=["archive"]).steps)
    assert store.consolidate(kinds=["merge", "decay"]).steps == ()
    with pytest.raises(NotFoundError):
        store.consolidate(skip=["ffffff"])
    with pytest.raises(UsageError):
        store.consolidate(kinds=["burn"])


def test_a_whole_plan_is_refused_if_an_entry_changed_since(store: Engram, clock: SetClock) -> None:
    lore = [store.record(text, category="FACT").lore for text in (QUEUE, TIDES)]
    clock.advance(days=200)
    plan = store.consolidate()
    store.edit(lore[1].id, Edit(add_tags=("new",)))
    before = contents(Path(store.path))
    with pytest.raises(ConflictError, match="after the plan was made"):
        store.apply(plan)
    assert contents(Path(store.path)) == before


def test_the_command_shows_the_plan_as_a_tree_and_applies_it(tmp_path: Path, clock: SetClock) -> None:
    root = make_plain_store(tmp_path / "store")
    store = open_test_store(root, clock=clock)
    for text in (SLOW, SLOWER, JITTER, SAME_JITTER):
        record_apart(store, text, "FAILURE")
    ok("query", "retry with jitter", cwd=root)
    shown = re.sub(
        r"^Plan of \S+",
        "Plan",
        masked(ok("consolidate", "--only", "merge", cwd=root).out),
        flags=re.MULTILINE,
    )
    assert shown.splitlines() == [
        "Plan · 1 step · rehearsed on 1 past query: 0 lose a helpful answer, 0 stay as they are, 1 get shorter",
        "▾ [x] merge      1 group, 2 → 1 entry (equivalent entries become one)",
        f'  [x] COMMIT  "{JITTER}" + 1',
        "        say the same (cosine at least 0.99); confidence afterwards 0.70",
        "        result: ID1 · 0.70 · ✓0",
        f'⚠ 0.94  "{SLOW}": one s…',
        "`engram review` lists what is left to you",
        "Nothing was changed. engram consolidate --apply",
    ]
    done = ok("consolidate", "--only", "merge", "--apply", "--json", cwd=root).json
    assert done["applied"]["done"] == {"merge": 1}
    assert ok("list", "--json", cwd=root).json["total"] == 3
    assert ok("consolidate", "--only", "merge", "--only", "supersede", cwd=root).out.startswith(
        "Nothing to consolidate.\n⚠ 0.94"
    )
