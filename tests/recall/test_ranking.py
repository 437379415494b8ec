"""Ranking: what moves a score, in which direction, and how far.

Mutants that make no difference: a tenth more of a figure that was fitted; a hundredth for 0 where more is assumed of any text,
or where a time begins with 1970.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.recall.ranking import (
    BY_BOTH,
    BY_WORDS,
    HALF_LIFE_DAYS,
    NONE,
    STRENGTHS,
    STRONG,
    WEAK,
    Bounds,
    Standing,
    Weights,
    bounds,
    evidence,
    importance_of,
    lead_weight,
    memory_strength,
    path_overlap,
    relevance,
    score,
    strength,
    weigh,
    weights_of,
    with_leads,
)
from engram.domain.settings import Settings

DAY = 86_400.0
NOW = 1_800_000_000.0
PLAIN = Standing(700, "semantic", 0, None, NOW, None, False)
fractions = st.floats(0, 1)
cosines = st.none() | st.floats(-1, 1)
standings = st.builds(
    Standing,
    st.integers(0, 1000),
    st.sampled_from([*HALF_LIFE_DAYS, "unheard-of"]),
    st.integers(0, 1000),
    st.none() | st.floats(0, 2 * NOW),
    st.floats(0, 2 * NOW),
    st.none() | fractions,
    st.booleans(),
)


def test_half_lives_are_the_documented_ones() -> None:
    assert HALF_LIFE_DAYS == {"working": 0.042, "episodic": 1, "semantic": 7, "procedural": 30}


@pytest.mark.parametrize("kind", list(HALF_LIFE_DAYS))
def test_memory_halves_each_half_life(kind: str) -> None:
    fresh = PLAIN._replace(type=kind)
    later = NOW + HALF_LIFE_DAYS[kind] * DAY
    assert memory_strength(fresh, NOW) == 1.0
    assert memory_strength(fresh, later) == pytest.approx(0.5)
    assert memory_strength(fresh._replace(pinned=True), later) == 1.0


def test_validation_renews_memory_and_makes_it_last() -> None:
    later = NOW + 14 * DAY
    faded = memory_strength(PLAIN, later)
    assert memory_strength(PLAIN._replace(last_validated=later), later) == 1.0
    assert memory_strength(PLAIN._replace(validation_count=1), later) == pytest.approx(math.sqrt(faded))


def test_memory_of_an_unknown_kind_halves_in_a_week() -> None:
    assert memory_strength(PLAIN._replace(type="unheard-of"), NOW + 7 * DAY) == pytest.approx(0.5)


def test_memory_counts_from_the_later_of_change_and_validation() -> None:
    later = NOW + 7 * DAY
    for change, validation in ((NOW, NOW - DAY), (NOW - DAY, NOW), (NOW, None)):
        standing = PLAIN._replace(updated_at=change, last_validated=validation)
        assert memory_strength(standing, later) == pytest.approx(0.5)
    assert memory_strength(PLAIN, NOW - DAY) == 1.0  # changed by a clock that is ahead


def test_memory_lasts_as_many_times_longer_as_the_store_sets() -> None:
    assert memory_strength(PLAIN, NOW + 28 * DAY, 4.0) == pytest.approx(0.5)
    assert memory_strength(PLAIN, NOW + 14 * DAY) == pytest.approx(0.25)


def test_memory_never_reaches_zero() -> None:
    assert memory_strength(PLAIN._replace(updated_at=0.0, type="working"), 9 * NOW) == 2.0**-60


@given(standings, st.floats(0, 4 * NOW))
def test_memory_and_standing_stay_between_zero_and_one(standing: Standing, now: float) -> None:
    assert 0 <= memory_strength(standing, now) <= 1
    assert 0 <= weigh(standing, now) <= 1


@given(standings, st.floats(0, NOW), st.floats(0, NOW))
def test_memory_never_grows_by_waiting(standing: Standing, start: float, wait: float) -> None:
    assert memory_strength(standing, start + wait) <= memory_strength(standing, start)


@given(fractions, cosines, standings, fractions)
def test_a_score_is_finite_not_negative_and_has_its_parts(
    coverage: float, cosine: float | None, standing: Standing, overlap: float
) -> None:
    found = score(coverage, cosine, standing, NOW, overlap=overlap)
    assert 0 <= found.total < 2
    assert math.isfinite(found.total)
    assert set(found.why()) - {"lead"} == {
        "words",
        "meaning",
        "near",
        "missing",
        "relevance",
        "standing",
        "path",
        "scope",
    }
    assert (found.why()["meaning"] is None) == (cosine is None)


@given(fractions, fractions, fractions, fractions, standings)
def test_more_words_more_meaning_and_more_confidence_never_hurt(
    coverage: float, more: float, cosine: float, nearer: float, standing: Standing
) -> None:
    low, high = sorted((coverage, more))
    far, near = sorted((cosine, nearer))
    assert relevance(low, far) <= relevance(high, far) + 1e-12
    assert relevance(low, far) <= relevance(low, near) + 1e-12
    assert relevance(low, None) <= relevance(high, None)
    sure, unsure = standing._replace(confidence=900), standing._replace(confidence=200)
    assert score(coverage, cosine, unsure, NOW).total <= score(coverage, cosine, sure, NOW).total


# Half of the standing is confidence (here 0.7), a fifth the kind, a fifth memory strength, a tenth importance (0.5 unsaid).
@pytest.mark.parametrize(
    ("change", "days", "expected"),
    [
        ({}, 0, 0.35 + 0.2 + 0.2 + 0.05),
        ({"confidence": 1000, "importance": 1.0}, 0, 1.0),
        ({"confidence": 0, "importance": 0.0}, 0, 0.2 + 0.2),
        ({"importance": 0.9}, 0, 0.35 + 0.2 + 0.2 + 0.09),
        ({"type": "procedural"}, 0, 0.35 + 0.2 + 0.2 + 0.05),
        ({"type": "episodic"}, 0, 0.35 + 0.12 + 0.2 + 0.05),
        ({"type": "working"}, 0, 0.35 + 0.08 + 0.2 + 0.05),
        ({"type": "unheard-of"}, 0, 0.35 + 0.2 + 0.2 + 0.05),
        ({}, 7, 0.35 + 0.2 + 0.1 + 0.05),
        ({"pinned": True}, 7, 0.35 + 0.2 + 0.2 + 0.05),
    ],
)
def test_standing_is_the_weighted_sum_of_its_parts(
    change: dict[str, Any], days: int, expected: float
) -> None:
    assert weigh(PLAIN._replace(**change), NOW + days * DAY) == pytest.approx(expected)


def test_standing_fades_at_the_half_life_of_the_store() -> None:
    assert weigh(PLAIN, NOW + 14 * DAY, 2.0) == pytest.approx(weigh(PLAIN, NOW + 7 * DAY))


@pytest.mark.parametrize(
    ("stated", "rank", "expected"),
    [
        (None, None, None),
        (0.2, None, 0.2),
        (0.2, 0.9, 0.2),
        (None, 0.0, 0.5),
        (None, 0.4, 0.7),
        (None, 1.0, 1.0),
        (None, -3.0, 0.5),
        (None, 3.0, 1.0),
    ],
)
def test_stated_importance_wins_and_else_a_rank_raises_it_from_a_half(
    stated: float | None, rank: float | None, expected: float | None
) -> None:
    assert importance_of(stated, rank) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("coverage", "cosine", "near", "expected"),
    [
        (0.5, None, None, 0.5),
        (0.5, 0.6, None, (0.6 + 2.25 * 0.5**1.75) / 3.25),
        (0.5, -0.6, None, (2.25 * 0.5**1.75) / 3.25),
        (0.0, 0.6, 0.8, (0.6 + 0.8) / 4.25),
        (0.5, 0.6, 0.8, (0.6 + 2.25 * 0.5**1.75 + 0.8) / 4.25),
        (1.0, 1.0, 1.0, 1.0),
        (1.0, 1.0, None, 1.0),
    ],
)
def test_relevance_is_the_documented_mix(
    coverage: float, cosine: float | None, near: float | None, expected: float
) -> None:
    assert relevance(coverage, cosine, near) == pytest.approx(expected)


def test_relevance_without_meaning_does_not_depend_on_the_weight_of_words() -> None:
    assert relevance(0.5, None, None, 9.0) == 0.5
    assert relevance(0.5, 0.6, None, 1.0) == pytest.approx((0.6 + 0.5**1.75) / 2)


def test_a_score_multiplies_relevance_by_standing_path_and_scope() -> None:
    found = score(0.5, 0.6, PLAIN, NOW, near=0.8, missing=0.1234, overlap=0.5, scope=0.9)
    relevant = (0.6 + 2.25 * 0.5**1.75 + 0.8) / 4.25
    assert found.total == pytest.approx(relevant * (0.9 + 0.1 * 0.8) * 1.125 * 0.9)
    assert found.why() == {
        "words": 0.5,
        "meaning": 0.6,
        "near": 0.8,
        "missing": 0.123,
        "relevance": round(relevant, 3),
        "standing": 0.8,
        "path": 1.125,
        "scope": 0.9,
        "lead": 0.0,
    }
    assert found._replace(near=None, missing=None).why()["near"] is None
    assert found._replace(near=None, missing=None).why()["missing"] is None


def test_why_rounds_each_part_to_three_digits() -> None:
    third = score(0.5, 0.5, PLAIN, NOW)._replace(
        relevance=1 / 3,
        words=1 / 3,
        cosine=1 / 3,
        near=1 / 3,
        missing=1 / 3,
        standing=1 / 3,
        path=1 / 3,
        scope=1 / 3,
        lead=1 / 3,
    )
    assert set(third.why().values()) == {0.333}


def test_the_settings_of_a_store_decide_how_much_each_part_counts() -> None:
    used = weights_of(Settings({"ranking.words": 0.6, "ranking.standing": 0.5, "ranking.half_life": 4.0}))
    assert relevance(1.0, 0.0, 0.0, used.words) == pytest.approx(0.6)  # the share that words have
    found = score(1.0, 1.0, PLAIN, NOW + 28 * DAY, near=1.0, weights=used)
    assert found.standing == pytest.approx(0.35 + 0.2 + 0.1 + 0.05)
    assert found.total == pytest.approx(0.5 + 0.5 * found.standing)
    words = score(1.0, 0.0, PLAIN, NOW, near=0.0, weights=used)
    assert words.relevance == pytest.approx(0.6)


def test_settings_left_alone_rank_as_measured() -> None:
    later = NOW + 7 * DAY
    found = score(0.5, 0.6, PLAIN, later, near=0.8)
    assert found.standing == pytest.approx(0.35 + 0.2 + 0.1 + 0.05)
    assert score(0.5, 0.6, PLAIN, later, near=0.8, weights=weights_of(Settings({}))) == found
    assert score(0.5, 0.6, PLAIN, later, near=0.8, weights=Weights(2.25, 0.1)) == found


def test_standing_only_breaks_near_ties() -> None:
    """However trusted and fresh, lore that fits half as well does not overtake."""
    worst = PLAIN._replace(confidence=0, type="working", updated_at=0.0, importance=0.0)
    best = PLAIN._replace(confidence=1000, type="procedural", pinned=True, importance=1.0)
    assert score(0.8, 0.8, worst, NOW).total > score(0.4, 0.4, best, NOW).total


@pytest.mark.parametrize(
    ("files", "wanted", "expected"),
    [
        (["src/a.py"], ["src/a.py"], 1.0),
        (["/src/a.py"], ["src/a.py/"], 1.0),
        (["src/a.py"], ["src/b.py"], 0.5),
        (["src/x/a.py"], ["src/y/a.py"], 1 / 3),
        (["a.py"], ["b.py"], 0.0),
        (["a.py", "src/b.py"], ["docs/c.md", "src/b.py"], 1.0),
        ([], ["a.py"], 0.0),
        (["a.py"], [], 0.0),
    ],
)
def test_overlap_of_paths(files: list[str], wanted: list[str], expected: float) -> None:
    assert path_overlap(files, wanted) == pytest.approx(expected)


paths = st.lists(st.text("ab/", max_size=9), max_size=4)


@given(paths, paths)
def test_overlap_is_a_fraction_and_the_same_both_ways(files: list[str], wanted: list[str]) -> None:
    assert 0 <= path_overlap(files, wanted) <= 1
    assert path_overlap(files, wanted) == path_overlap(wanted, files)


def test_the_scope_weight_multiplies_the_whole_score() -> None:
    once, twice = score(0.5, 0.5, PLAIN, NOW), score(0.5, 0.5, PLAIN, NOW, scope=1.5)
    assert twice.total == pytest.approx(1.5 * once.total)


# Strength: more evidence never makes an answer weaker, and the bounds are in order.

RANK = {NONE: 0, WEAK: 1, STRONG: 2}


leads = st.floats(0, 1)


def told(coverage: float, cosine: float | None, lead: float = 0.5) -> str:
    return strength(evidence(coverage, cosine), lead, bounds(cosine))


def test_there_are_three_strengths() -> None:
    assert STRENGTHS == ("strong", "weak", "none")


@pytest.mark.parametrize("limits", [BY_BOTH, BY_WORDS])
def test_the_bounds_for_shown_weak_and_strong_are_in_order(limits: Bounds) -> None:
    assert limits.shown <= limits.weak < limits.least < limits.strong


def test_a_perfect_hit_is_strong_and_no_hit_is_none() -> None:
    assert told(1.0, 1.0) == told(1.0, None) == STRONG
    assert told(0.0, None) == told(0.0, 0.0) == told(0.0, -1.0) == NONE


@given(fractions, fractions, cosines, cosines, leads)
def test_more_words_or_more_meaning_never_weaken_an_answer(
    words: float, more: float, cosine: float | None, nearer: float | None, lead: float
) -> None:
    low, high = sorted((words, more))
    assert RANK[told(low, cosine, lead)] <= RANK[told(high, cosine, lead)]
    if cosine is not None and nearer is not None:
        far, near = sorted((cosine, nearer))
        assert RANK[told(low, far, lead)] <= RANK[told(low, near, lead)]


@given(fractions, cosines, leads, leads)
def test_standing_out_more_never_weakens_an_answer(
    words: float, cosine: float | None, lead: float, more: float
) -> None:
    assert RANK[told(words, cosine, min(lead, more))] <= RANK[told(words, cosine, max(lead, more))]


def test_a_hit_without_a_lead_is_not_strong_by_evidence_that_many_entries_have() -> None:
    assert told(0.6, 0.6, lead=0.0) == WEAK
    assert told(0.6, 0.6, lead=0.5) == STRONG


@pytest.mark.parametrize("limits", [BY_BOTH, BY_WORDS])
def test_standing_out_alone_is_no_evidence(limits: Bounds) -> None:
    assert strength(limits.least - 0.001, 1.0, limits) == WEAK
    assert strength(limits.least, 1.0, limits) == STRONG


@pytest.mark.parametrize("limits", [BY_BOTH, BY_WORDS])
def test_the_bounds_for_strong_and_weak_are_reached_exactly(limits: Bounds) -> None:
    much = limits.strong - limits.lead * 0.25
    assert strength(much, 0.25, limits) == STRONG
    assert strength(much - 0.001, 0.25, limits) == WEAK
    assert strength(limits.weak, 0.0, limits) == WEAK
    assert strength(limits.weak - 0.001, 0.0, limits) == NONE


def totals(*values: float, cosine: float | None = 0.5, scope: float = 1.0) -> list[float]:
    scores = [score(0.5, cosine, PLAIN, NOW)._replace(total=value, scope=scope) for value in values]
    return [pytest.approx(one.lead) for one in with_leads(scores)]


def test_a_lead_is_over_the_next_two_hits_and_the_farther_counts_twice() -> None:
    leads = [1 - (0.6 + 2 * 0.45) / 2.4, 1 - (0.45 + 2 * 0.3) / 1.8, 1 - (0.3 + 0.2) / 1.35, 1 - 0.1 / 0.3]
    assert totals(0.8, 0.6, 0.45, 0.3) == leads


def test_the_weight_of_a_lead_grows_from_200_entries_on() -> None:
    assert [lead_weight(entries) for entries in (0, 1, 200)] == [1.0, 1.0, 1.0]
    assert lead_weight(200**2) == pytest.approx(2**0.5)


def test_parts_of_one_document_are_no_rivals() -> None:
    scores = [score(0.5, 0.5, PLAIN, NOW)._replace(total=value) for value in (0.8, 0.79, 0.45, 0.3)]
    note, none = frozenset({(NOW, 1)}), frozenset[tuple[float, int]]()
    apart = with_leads(scores, [note, none, none, none])
    together = with_leads(scores, [note, note, none, none])
    assert apart[0].lead == pytest.approx(1 - (0.79 + 2 * 0.45) / 2.4)
    assert together[0].lead == pytest.approx(1 - (0.45 + 2 * 0.3) / 2.4)
    assert together[1:] == apart[1:]


def test_a_hit_without_rivals_is_compared_with_a_chance_score() -> None:
    assert totals(0.5) == [0.8]
    assert totals(0.5, 0.2, 0.05) == [1 - (0.2 + 0.2) / 1.5, 0.5, 0.0]
    assert totals(0.5, cosine=None) == [0.96]
    assert totals(1.0, scope=2.0) == [0.8]
    assert totals(0.0) == [0.0]


@given(fractions, cosines, fractions, fractions)
def test_evidence_shrinks_with_what_is_missing(
    words: float, cosine: float | None, missing: float, more: float
) -> None:
    less, most = sorted((missing, more))
    assert evidence(words, cosine, most) <= evidence(words, cosine, less)


def test_a_hit_without_the_decisive_word_is_no_answer() -> None:
    assert strength(evidence(0.1, 0.2, 0.3), 1.0, BY_BOTH) == NONE
    assert strength(evidence(0.1, 0.2, 0.1), 0.4, BY_BOTH) == WEAK
