"""Of texts that say the same only the first is let through."""

from __future__ import annotations

from engram.domain.similarity.distinct_texts import Distinct, distinct

JITTER = "Retries of the broker need jitter, because all clients retry at once."


def test_equal_texts_and_texts_of_the_same_words_are_kept_once() -> None:
    texts = [
        JITTER,
        JITTER,
        JITTER.replace("the broker", "a broker"),
        "Because all clients retry at once, retries need jitter.",
    ]
    assert distinct(texts) == [0, 3]


def test_texts_that_differ_in_a_number_a_name_or_a_negation_are_all_kept() -> None:
    texts = [
        "The proxy waits 30 seconds.",
        "The proxy waits 60 seconds.",
        "The proxy never waits 30 seconds.",
        "nginx waits 30 seconds.",
    ]
    assert distinct(texts) == [0, 1, 2, 3]


def test_twin_of_returns_the_number_of_the_first_text() -> None:
    seen = Distinct()
    assert [seen.twin_of(text) for text in ("One thing.", "Another.", "One thing.", "Another.")] == [
        None,
        None,
        0,
        1,
    ]
