"""Texts of nearly the same words: what agrees in numbers, negations and names says the same, the rest is told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.similarity.equivalence import (
    CONTRADICTION,
    DUPLICATE,
    LIKELY,
    NEAR,
    SAME,
    compare,
    is_shown,
)

SAY_THE_SAME = [
    ("Retries need jitter; wait 3 seconds", "Retries need jitter: wait three seconds."),
    ("Never run migrations on startup.", "Don't run migrations on startup"),
    ("Set `max_connections` before the pool starts.", "Set max_connections before the pool starts"),
    ("Tantivy's parser segfaults on deep nesting", "The parser of Tantivy segfaults on deep nesting."),
    ("Redis drops keys under memory pressure", "Under memory pressure Redis drops keys"),
    ("The limit is 10,000 rows", "The limit is 10000 rows"),
    ("It doesn't retry on timeouts", "It doesn’t retry on timeouts"),
]
CONTRADICT = [
    ("Run migrations on startup", "Do not run migrations on startup", "negates"),
    ("The parser fails above 10 MB", "The parser fails above 20 MB", "10"),
    ("Clear the cache before upgrading node", "Clear the cache after upgrading node", "before"),
    ("Always pin the base image", "Seldom pin the base image", "always"),
    ("Writes are safe from two threads", "Writes are unsafe from two threads", "safe"),
]
DIFFER = [
    ("fetch_user raises KeyError", "fetch_users raises KeyError", "fetch_user"),
    ("We chose Postgres over MySQL", "We chose MySQL over Postgres", "another order"),
    ("Scale from 3 to 5 workers", "Scale from 5 to 3 workers", "another order"),
    ("The call to Stripe needs a key", "The call to Adyen needs a key", "adyen"),
    ("Wait for the lock", "Wait 30 seconds for the lock", "30"),
    ("See docs/setup.md for the ports", "See docs/deploy.md for the ports", "docs/deploy.md"),
]


@pytest.mark.parametrize(("one", "other"), SAY_THE_SAME)
def test_other_words_for_the_same_are_the_same(one: str, other: str) -> None:
    assert compare(one, other).kind == compare(other, one).kind == SAME


@pytest.mark.parametrize(("one", "other", "why"), CONTRADICT)
def test_a_number_negation_or_opposite_that_differs_is_a_contradiction(
    one: str, other: str, why: str
) -> None:
    assert compare(one, other).kind == compare(other, one).kind == CONTRADICTION
    assert why in compare(one, other).why


@pytest.mark.parametrize(("one", "other", "why"), DIFFER)
def test_a_name_or_number_of_only_one_text_needs_a_person(one: str, other: str, why: str) -> None:
    assert compare(one, other).kind == compare(other, one).kind == DUPLICATE
    assert why in compare(one, other).why


@given(st.text(max_size=200))
def test_every_text_says_the_same_as_itself(text: str) -> None:
    assert compare(text, text).kind == SAME
    assert compare(text, text + " ").kind == SAME


WORDS = st.lists(
    st.sampled_from(
        ["redis", "Redis", "`a_b`", "not", "3", "4.5", "before", "after", "v2", "Stripe,", "the", "x/y.py."]
    )
)


@given(WORDS, WORDS)
def test_the_kind_does_not_depend_on_the_order_of_the_texts(one: list[str], other: list[str]) -> None:
    assert compare(" ".join(one), " ".join(other)).kind == compare(" ".join(other), " ".join(one)).kind


def test_people_are_shown_each_duplicate_but_only_likely_or_very_near_contradictions() -> None:
    assert is_shown(DUPLICATE, 0.2, 0.3)
    assert is_shown(SAME, 1.0, 0.95)
    assert [is_shown(CONTRADICTION, LIKELY + more, 0.5) for more in (-0.01, 0.0)] == [False, True]
    assert [is_shown(CONTRADICTION, 0.2, NEAR + more) for more in (-0.01, 0.0)] == [False, True]
