"""Work without garbage collection, and what the collector does afterwards."""

from __future__ import annotations

import gc
import weakref

from engram.usecases.store.gc_pause import no_collections


class _Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_new_objects_are_not_traversed_by_the_next_collection() -> None:
    looked_at: list[int] = []

    def note(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            looked_at.append(len(gc.get_objects(generation=0)))

    gc.unfreeze()  # of what the tests share
    gc.callbacks.append(note)
    try:
        with no_collections():
            made = [[number] for number in range(100_000)]
            assert not gc.isenabled()
        gc.collect(0)
    finally:
        gc.callbacks.remove(note)
        gc.freeze()
    assert gc.isenabled()
    assert max(looked_at) < len(made)


def test_a_cycle_created_during_the_pause_is_collected_later() -> None:
    with no_collections():
        seen = weakref.ref(_Cycle())
    gc.collect()
    assert seen() is None


def test_objects_frozen_by_the_program_stay_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with no_collections():
        made = [[number] for number in range(20_000)]
    assert gc.get_freeze_count() > frozen - len(made) > 0, "what is freed meanwhile is frozen no more"


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with no_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
