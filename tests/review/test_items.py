"""Review items are ordered by worth times certainty, made when read, and counted the same everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apikit import QUEUE, TIDES, SetClock

from engram.domain.review.priority import LEAST_WORTH, worth
from engram.domain.review.review import KINDS, LOOK, STALE
from engram.usecases.review.items import Items, PackedItem
from engram.usecases.review.review import count_waiting_items, review
from engram.usecases.review.waiting import noted_counts

if TYPE_CHECKING:
    from engram.app import Engram


def aged(store: Engram, clock: SetClock) -> None:
    """Add two entries unused for 200 days, one of them important, and a pending one."""
    store.record(QUEUE, category="FACT")
    store.record(TIDES, category="FACT", importance=0.9)
    clock.advance(days=200)
    store.record("The nightly build needs Node 22.", category="FACT", status="pending")


def test_important_items_come_first_within_a_kind_and_pending_ones_before_stale_ones(
    store: Engram, clock: SetClock
) -> None:
    aged(store, clock)
    found = review(store.store).items
    assert [item.kind for item in found] == ["pending", STALE, STALE]
    assert [item.title for item in found[1:]] == [TIDES, QUEUE]
    assert [item.score for item in found] == sorted([item.score for item in found], reverse=True)
    assert found[1].worth == worth(STALE, 0.9)
    assert {*LEAST_WORTH} == {*KINDS}


def test_session_reports_come_last(store: Engram, clock: SetClock) -> None:
    aged(store, clock)
    for category in ("SESSION_SUMMARY", "TASK_RESULT"):
        store.record(f"The import was split in two, by {category}.", category=category, status="pending")
    found = review(store.store).items
    assert [item.kind for item in found] == ["pending", STALE, STALE, "pending", "pending"]
    assert [item.worth for item in found[3:]] == [100, 100]


def test_items_about_stale_entries_are_made_when_read_and_equal_each_time(
    store: Engram, clock: SetClock
) -> None:
    aged(store, clock)
    found = review(store.store, kinds=[STALE]).items
    assert isinstance(found, Items)
    assert all(isinstance(one, PackedItem) for one in found.found)
    assert found[0] == found[0]
    assert [item.id for item in found] == found.ids()
    assert [item.score for item in found] == [one.score for one in found.found]
    first = review(store.store, kinds=[STALE], first=1).items
    assert [item.title for item in first] == [TIDES]


def test_the_count_is_the_last_noted_one_without_computing_it_again(store: Engram, clock: SetClock) -> None:
    aged(store, clock)
    assert count_waiting_items(store.store) == {"pending": 1}  # nobody looked for stale ones yet
    assert store.status()["review"] == {"waiting": 3, "by_kind": {"pending": 1, "stale": 2}}
    assert noted_counts(store.store)["stale"] == 2
    store.decide(review(store.store, kinds=["pending"]).items[0], "accept")
    assert count_waiting_items(store.store) == {"stale": 2}


def test_no_supersession_is_proposed_for_two_services_on_two_ports(store: Engram) -> None:
    for number in (4, 1):
        store.record(
            f"The ledger service {number} listens on port 900{number} behind the mesh.", category="FACT"
        )
    assert [item.proposal for item in review(store.store).items] == [LOOK]
