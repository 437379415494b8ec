"""Sentences that state a lesson: by a label or by how they are built; plans, questions and remarks state none."""

from __future__ import annotations

import pytest

from engram.domain.exchange.lesson_sentences import labelled_category, lesson_in, sentences, stated_category

UNSURE = "`asyncpg` does not support prepared statements behind PgBouncer."


def test_a_paragraph_is_parted_into_sentences_without_the_marks_of_a_list() -> None:
    assert sentences("3. Use `uv`, e.g. for CI. **Never** pip! It breaks.") == [
        "Use `uv`, e.g. for CI.", "Never pip!", "It breaks."
    ]  # fmt: skip
    assert sentences("- [ ] Upgrade Redis.") == sentences("| a | b |") == []


@pytest.mark.parametrize(
    ("sentence", "category"),
    [
        ("It turned out that `fetch` follows redirects across origins.", "EDGE_CASE_DISCOVERY"),
        ("We chose Postgres over Redis because nobody here runs Redis.", "ARCHITECTURAL_DECISION"),
        ("This repo uses `pnpm` and never npm.", "PREFERENCE"),
        ("We deploy via Argo CD from the main branch.", "WORKFLOW"),
        ("I found that the `/orders` endpoint returns dates without a zone.", "INTERFACE_LESSON"),
        ("It turned out that it was slow.", ""),  # names nothing
        ("It turned out that `fetch` follows redirects, right?", ""),
        ("I'll check whether it turned out that `fetch` follows redirects.", ""),
        ("That turned out to break `fetch`.", ""),  # whose subject is elsewhere
        ("`fetch.py`: it turned out that redirects are followed.", ""),  # a remark of a review
    ],
)
def test_a_sentence_states_a_lesson_if_it_is_built_like_one_and_names_something(
    sentence: str, category: str
) -> None:
    assert lesson_in(sentence) == category


def test_about_a_fixed_failure_more_counts_and_of_a_person_only_what_they_decide_or_want() -> None:
    assert lesson_in(UNSURE) == ""
    assert lesson_in(UNSURE, of_fix=True) == "DEPENDENCY_BEHAVIOR"
    found = "It turned out that `fetch` follows redirects across origins."
    assert lesson_in(found, of_person=True) == ""
    assert lesson_in("Never commit `.env` files.", of_person=True) == "PREFERENCE"


def test_a_label_decides_and_a_text_longer_than_a_lesson_states_none() -> None:
    assert labelled_category("2. **Workaround**: set LANG=C first.") == "IMPLEMENTATION_FRICTION"
    assert labelled_category("We decided to keep Postgres.") == "ARCHITECTURAL_DECISION"
    assert labelled_category("The workaround was easy.") == ""
    assert stated_category("Heading\n\nDecision: keep Postgres.") == "ARCHITECTURAL_DECISION"
    assert stated_category("Prefer tabs over spaces.") == "PREFERENCE"
    assert stated_category("Decision: keep Postgres. " + "x" * 700) == ""
