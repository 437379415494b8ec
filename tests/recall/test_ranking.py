"""Ranking: what moves a score, in which direction, and how far."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.recall.ranking import (
    HALF_LIFE_DAYS,
    Standing,
    memory_strength,
    path_overlap,
    relevance,
    score,
    weigh,
)

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
    assert set(found.why()) == {
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
