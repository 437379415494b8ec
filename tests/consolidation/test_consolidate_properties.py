"""In any store a plan is applied as planned, applying it twice changes nothing more, and undo restores every byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apikit import QUEUE, TIDES, SetClock, dedicated, lore_files, open_test_store, record_apart
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.usecases.store.commit import commit_pending

if TYPE_CHECKING:
    import pytest

    from engram.app import Engram

JITTER = "Retry with full jitter: a fleet that retries in step brings the broker down again."
TEXTS = (QUEUE, TIDES, JITTER, JITTER, JITTER.replace("that", "which"), JITTER.replace("full", "no"))
BY_HAND = (
    b"# Seats\n\nThe licence server allows 20 seats.\n",
    b"---\r\ntitle: note # mine\r\nowner: ada\r\ncreated: 2025-01-03\r\nconfidence: 1.0\r\n---\r\nThe mirror is slow at noon.\r\n",
    b"---\nid: 01KJPY44E039MMV97SZGY6V9EQ\ncategory: FACT\nmine: {a: 1}\n# a comment\ncreated_at: 2025-03-02T09:30:00Z\n"
    b"votes: {AAAAAAAA: {up: 500, down: 0, n: 5}, idle.2025-06: {up: 0, down: 10, n: 0}}\n---\n" + JITTER.encode() + b"\n",
    b"---\nid: 01KJPY44E039MMV97SZGY6V9ER\ncategory: FACT\nstatus: nonsense\ncreated_at: 2025-03-02T09:30:00Z\n---\nBroken.\n",
)  # fmt: skip
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.sampled_from(TEXTS), st.sampled_from(["FACT", "FAILURE", "WORKFLOW"])),
        st.tuples(st.just("write"), st.sampled_from(BY_HAND), st.sampled_from(["a.md", "b.md", "c.md"])),
        st.tuples(st.just("query"), st.sampled_from(TEXTS), st.booleans()),
        st.tuples(st.just("wait"), st.integers(1, 120), st.none()),
    ),
    min_size=4,
    max_size=14,
)  # fmt: skip


def prepare(store: Engram, clock: SetClock, actions: list[tuple[str, object, object]]) -> None:
    for action, one, other in actions:
        clock.advance(minutes=1)
        if action == "record":
            record_apart(store, str(one), str(other))
        elif action == "write":
            assert isinstance(one, bytes)
            (Path(store.path) / "lore" / str(other)).write_bytes(one)
        elif action == "query":
            shown = store.query(str(one), min_confidence=0.0).lore
            if other and shown:
                store.feedback(helpful=[shown[0].ref], again=True)
        else:
            assert isinstance(one, int)
            clock.advance(days=one)


def contents(root: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in lore_files(Path(root))}


@settings(
    max_examples=examples(2, 80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ACTIONS, st.integers(0, 400))
def test_a_plan_is_applied_as_planned_idempotent_and_undone_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, object, object]], days: int
) -> None:
    clock = SetClock()
    store = open_test_store(dedicated(tmp_path_factory.mktemp("store") / "store"), clock=clock)
    (Path(store.path) / "lore").mkdir(exist_ok=True)
    prepare(store, clock, [("record", QUEUE, "FACT"), *actions, ("wait", days, None)])
    store.refresh()
    commit_pending(store.store, wait=30)
    before = contents(store.path)
    plan = store.consolidate()
    assert contents(store.path) == before
    done = store.apply(plan)
    assert done.done == plan.by_kind
    after = contents(store.path)
    for step in plan.selected:
        if step.kind == "merge":  # archiving is an edit, from which the months count anew
            assert step.result is not None
            own, merged = store.store.source_id, step.result
            is_confirmed = (
                own != merged.source_id and own in merged.sources
            )  # which a plan does not count yet
            now = store.get(step.lore[0]).lore.thousandths
            assert now >= step.after if is_confirmed else now == step.after
    assert store.apply(plan).done == {}
    assert contents(store.path) == after
    again = store.consolidate()
    assert again.selected == ()
    if plan.selected:
        store.undo()
    assert contents(store.path) == before
    assert store.consolidate().by_kind == plan.by_kind
    store.close()
