"""Feedback: its arithmetic, and its record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, START, SetClock, lore_files, open_test_store

from engram.domain.errors import UsageError

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path)


def test_helpful_adds_eight_hundredths_and_a_dated_validation_and_keeps_the_text(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path, clock=clock) as store:
        lore_id = store.record(QUEUE, category="FACT").lore.id
        clock.advance(hours=1)
        (judged,) = store.feedback(helpful=lore_id)
        lore = store.get(lore_id).lore
    assert (judged.previous, judged.current, judged.validation_count) == (0.70, 0.78, 1)
    assert (lore.confidence, lore.validation_count) == (0.78, 1)
    assert lore.last_validated == clock.moment
    assert lore.updated_at == lore.created_at == START


def test_incorrect_takes_fifteen_hundredths_and_no_validation(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    (judged,) = store.feedback(incorrect=lore_id)
    lore = store.get(lore_id).lore
    assert (judged.previous, judged.current, judged.validation_count) == (0.70, 0.55, 0)
    assert (lore.confidence, lore.validation_count, lore.last_validated) == (0.55, 0, None)


def test_not_relevant_changes_no_byte(store: Engram, tmp_path: Path) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    before = lore_files(tmp_path)[0].read_bytes()
    (judged,) = store.feedback(not_relevant=lore_id)
    assert (judged.previous, judged.current, judged.validation_count) == (0.70, 0.70, 0)
    assert lore_files(tmp_path)[0].read_bytes() == before


def test_confidence_stays_between_zero_and_one(store: Engram) -> None:
    high = store.record(QUEUE, category="FACT", confidence=0.95).lore.id
    low = store.record(COLOUR, category="FACT", confidence=0.10).lore.id
    judged = store.feedback(helpful=high, incorrect=low)
    assert [(one.previous, one.current) for one in judged] == [(0.95, 1.00), (0.10, 0.00)]
    again = store.feedback(helpful=high, incorrect=low, again=True)
    assert [(one.previous, one.current, one.validation_count) for one in again] == [
        (1.0, 1.0, 2),
        (0.0, 0.0, 0),
    ]
    back = store.feedback(incorrect=high, helpful=low)
    assert [(one.id, one.previous, one.current) for one in back] == [(low, 0.0, 0.08), (high, 1.0, 0.85)]


def test_the_same_judgement_counts_once_a_session_unless_again(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        lore_id = store.record(QUEUE, category="FACT").lore.id
        assert not store.feedback(helpful=lore_id)[0].repeated
        repeated = store.feedback(helpful=lore_id)[0]
        assert (repeated.repeated, repeated.previous, repeated.current) == (True, 0.78, 0.78)
        assert store.feedback(incorrect=lore_id)[0].current == 0.63, "another kind counts"
        assert store.feedback(incorrect=lore_id)[0].repeated
        assert store.feedback(helpful=lore_id, again=True)[0].current == 0.71
        assert store.get(lore_id).lore.validation_count == 2
    with open_test_store(tmp_path) as store:
        assert store.feedback(helpful=lore_id)[0].repeated, "a session outlives a process"
    with open_test_store(tmp_path, session="another") as store:
        assert store.feedback(helpful=lore_id)[0].current == 0.79


def test_one_entry_named_twice_in_one_call_is_judged_once(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    store.query("queue consumer")
    judged = store.feedback(helpful=["L1", lore_id, "queue consumer patterns"])
    assert [(one.id, one.current) for one in judged] == [(lore_id, 0.78)]


def test_a_contradiction_in_one_call_changes_nothing(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    with pytest.raises(UsageError, match="helpful and incorrect at once"):
        store.feedback(helpful=lore_id, incorrect=lore_id)
    assert store.get(lore_id).lore.confidence == 0.70


def test_no_feedback_at_all_is_refused(store: Engram) -> None:
    with pytest.raises(UsageError, match="No feedback"):
        store.feedback()


def test_feedback_moves_an_entry_in_the_ranking_and_out_of_recall(store: Engram) -> None:
    first = store.record("The broker delivers twice", category="FACT", confidence=0.6).lore.id
    second = store.record("The broker delivers it twice again", category="FACT", confidence=0.6).lore.id
    store.feedback(helpful=second, incorrect=first)
    assert [hit.lore.id for hit in store.query("broker delivers twice").lore] == [second]
    assert len(store.query("broker delivers twice", min_confidence=0).lore) == 2
