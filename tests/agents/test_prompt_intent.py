"""How a prompt is used for recall: the threshold it needs, and which of its sentences are queried.

Equivalent mutants: a fitted number changed by a tenth.
"""

from __future__ import annotations

import pytest

from engram.domain.agents.prompt_intent import (
    INSTRUCTION,
    LONG_INSTRUCTION,
    split_sentences,
    threshold_for,
    topic_of,
)


@pytest.mark.parametrize(
    "prompt",
    [
        "how do we retry a failed charge",
        "how do we retry the failed charge of a large customer tonight",
        "the worker of the second queue is slow tonight, do you know the reason?",
        "Does hopper encrypt what it uploads?",
        "can hopper encrypt files before upload",
        "ok, so why is the lock never released",
        "when does the settlement run",
        "The retries stopped. Which timeout applies to them?",
        "the worker is slow, do you know why?",
    ],
)
def test_a_question_needs_the_full_threshold(prompt: str) -> None:
    assert threshold_for(prompt) == 1.0


@pytest.mark.parametrize(
    "prompt",
    [
        "add a retry to the upload of large photos",
        "the upload fails since we changed the proxy of the office",
        "Can you add a retry to the upload of large photos?",
        "please, could we have a retry for photos here, too?",
        "When I press the big green button nothing happens.",
        "do the migration of the events table tonight, before the release",
    ],
)
def test_an_instruction_or_a_report_needs_a_lower_threshold(prompt: str) -> None:
    assert threshold_for(prompt) == INSTRUCTION


def test_the_threshold_falls_with_length_up_to_that_of_pasted_text() -> None:
    words = "add a retry to the upload of large photos and keep the difference small because " * 5
    bars = [threshold_for(" ".join(words.split()[:length])) for length in (20, 25, 30, 60, 61)]
    assert bars == pytest.approx(
        [INSTRUCTION, (INSTRUCTION + LONG_INSTRUCTION) / 2, LONG_INSTRUCTION, LONG_INSTRUCTION, INSTRUCTION]
    )


def test_a_prompt_with_few_telling_words_needs_the_full_threshold() -> None:
    assert (
        threshold_for("upload retry proxy timeout") == threshold_for("make it a little shorter please") == 1.0
    )
    assert threshold_for("upload retry proxy timeout photos") == INSTRUCTION


def test_the_first_five_meaningful_sentences_are_queried() -> None:
    sentences = [f"Sentence number {number} says something." for number in range(7)]
    assert split_sentences(" ".join([sentences[0], "Thanks a lot!", *sentences[1:]])) == []
    longer = [one.replace("something", "something else") for one in sentences]
    assert split_sentences("\n".join(["Hi there.", *longer])) == longer[:5]


def test_a_single_sentence_is_queried_only_as_the_whole_prompt() -> None:
    assert split_sentences("Add a retry to the upload of photos, version 1.2, please.\n") == []


def test_the_meaningful_one_of_two_sentences_is_queried() -> None:
    assert split_sentences("Add a retry to the upload. Thanks!") == ["Add a retry to the upload."]


def test_the_subject_of_a_session_comes_from_its_last_two_meaningful_prompts() -> None:
    first, second, third = (
        f"{name} of the orders are sent twice\n since Monday" for name in ("Bills", "Mails", "Parcels")
    )
    asked = topic_of([first, second, "yes, go on", third, "and the other one?"])
    assert (
        asked
        == "Mails of the orders are sent twice since Monday / Parcels of the orders are sent twice since Monday"
    )
    assert topic_of(["yes, go on", "the deploy hangs"]) == ""
    assert topic_of(["the nightly deploy hangs"]) == "the nightly deploy hangs"
    assert topic_of([f"begins with three words {'x' * 5_000}"]) == "begins with three words"
    assert (
        topic_of(["some good words " * 18 + "two more words"])
        == ("some good words " * 18).strip() + " two more"
    )
