"""Feedback: the arithmetic, what is remembered of it, and how the lore that is meant is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, START, TIDES, SetClock, lore_files, opened

from engram.domain.errors import AmbiguousError, NotFoundError, UsageError

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return opened(tmp_path)


def test_helpful_adds_eight_hundredths_a_validation_and_its_time_and_edits_no_words(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as store:
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
    with opened(tmp_path) as store:
        lore_id = store.record(QUEUE, category="FACT").lore.id
        assert not store.feedback(helpful=lore_id)[0].repeated
        repeated = store.feedback(helpful=lore_id)[0]
        assert (repeated.repeated, repeated.previous, repeated.current) == (True, 0.78, 0.78)
        assert store.feedback(incorrect=lore_id)[0].current == 0.63, "another kind counts"
        assert store.feedback(incorrect=lore_id)[0].repeated
        assert store.feedback(helpful=lore_id, again=True)[0].current == 0.71
        assert store.get(lore_id).lore.validation_count == 2
    with opened(tmp_path) as store:
        assert store.feedback(helpful=lore_id)[0].repeated, "a session outlives a process"
    with opened(tmp_path, session="another") as store:
        assert store.feedback(helpful=lore_id)[0].current == 0.79


def test_one_lore_named_twice_in_one_call_is_judged_once(store: Engram) -> None:
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


def test_a_lore_is_named_by_ref_id_prefix_or_words(store: Engram) -> None:
    wanted = store.record(QUEUE, category="FACT").lore.id
    store.record(COLOUR, category="FACT")
    answer = store.query("queue consumer patterns")
    assert answer.session_refs == {"L1": wanted}
    names = [
        *("L1", "l1", " L1 ", wanted, wanted.lower(), wanted[:-1], wanted[:-1].lower()),
        *("queue consumer patterns", "Make every handler IDEMPOTENT", "brokers deliver twice"),
        *("queue consumers pattern", "consumer patterns: making handlers idempotent"),
    ]
    for name in names:
        (judged,) = store.feedback(not_relevant=name)
        assert (judged.id, judged.ref) == (wanted, "L1"), name


def test_words_that_fit_several_list_them_and_change_nothing(store: Engram) -> None:
    ids = [store.record(f"The broker in {place} delivers twice", category="FACT").lore.id for place in "ABC"]
    store.query("the broker delivers twice")
    for name in ("delivers twice", "the broker"):
        with pytest.raises(AmbiguousError) as caught:
            store.feedback(helpful=name)
        assert {lore_id for lore_id, _ in caught.value.candidates} == set(ids)
        assert all(lore_id in caught.value.message for lore_id in ids)
        assert caught.value.exit_code == 4
    assert store.feedback(helpful="the broker in B")[0].id == ids[1]
    assert [store.get(lore_id).lore.confidence for lore_id in ids] == [0.70, 0.78, 0.70]


def test_the_candidates_of_an_ambiguous_prefix_are_those_that_begin_so(store: Engram) -> None:
    ids = [store.record(text, category="FACT").lore.id for text in (QUEUE, COLOUR, TIDES)]
    with pytest.raises(AmbiguousError) as caught:
        store.feedback(helpful=ids[0][:10])
    assert [lore_id for lore_id, _ in caught.value.candidates] == sorted(ids)


def test_a_copied_file_makes_no_prefix_ambiguous(store: Engram, tmp_path: Path) -> None:
    done = store.record(QUEUE, category="FACT")
    (tmp_path / "lore" / "copy.md").write_bytes((tmp_path / done.path).read_bytes())
    assert store.feedback(not_relevant=done.lore.id[:12])[0].id == done.lore.id


@pytest.mark.parametrize(
    "name", ["L9", "L0", "01M806ZZWH03EWHXWBG1FA47RA", "01ZZZZ", "words nobody wrote", "🜁", "-"]
)
def test_a_name_that_fits_nothing_is_not_found(store: Engram, name: str) -> None:
    store.record(QUEUE, category="FACT")
    store.query("queue consumer")
    with pytest.raises(NotFoundError) as caught:
        store.feedback(helpful=name)
    assert caught.value.exit_code == 3
    assert caught.value.hint


def test_words_only_name_what_this_session_saw(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.record(QUEUE, category="FACT")
        store.query("queue consumer")
    with opened(tmp_path, session="another") as store, pytest.raises(NotFoundError):
        store.feedback(helpful="queue consumer patterns")


def test_one_bad_name_stops_the_whole_call(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    with pytest.raises(NotFoundError):
        store.feedback(helpful=[lore_id, "L77"])
    assert store.get(lore_id).lore.confidence == 0.70


def test_feedback_moves_an_entry_in_the_ranking_and_out_of_recall(store: Engram) -> None:
    first = store.record("The broker delivers twice", category="FACT", confidence=0.6).lore.id
    second = store.record("The broker delivers it twice again", category="FACT", confidence=0.6).lore.id
    store.feedback(helpful=second, incorrect=first)
    assert [hit.lore.id for hit in store.query("broker delivers twice").lore] == [second]
    assert len(store.query("broker delivers twice", min_confidence=0).lore) == 2
