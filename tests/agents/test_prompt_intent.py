"""What a prompt asks of memory: whether it asks at all, and which of its sentences say something.

Mutants that make no difference: a tenth more of a figure that was fitted.
"""

from __future__ import annotations

import pytest

from engram.domain.agents.prompt_intent import INSTRUCTION, LONG_INSTRUCTION, asked_in, bar_of, sentences_of


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
def test_a_question_needs_all_of_a_strong_answer(prompt: str) -> None:
    assert bar_of(prompt) == 1.0


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
def test_who_says_what_to_do_or_what_happens_needs_less(prompt: str) -> None:
    assert bar_of(prompt) == INSTRUCTION


def test_the_longer_a_prompt_the_less_of_it_is_enough_unless_text_was_pasted() -> None:
    words = "add a retry to the upload of large photos and keep the difference small because " * 5
    bars = [bar_of(" ".join(words.split()[:length])) for length in (20, 25, 30, 60, 61)]
    assert bars == pytest.approx(
        [INSTRUCTION, (INSTRUCTION + LONG_INSTRUCTION) / 2, LONG_INSTRUCTION, LONG_INSTRUCTION, INSTRUCTION]
    )


def test_a_few_telling_words_need_all_of_it_however_many_small_ones_there_are() -> None:
    assert bar_of("upload retry proxy timeout") == bar_of("make it a little shorter please") == 1.0
    assert bar_of("upload retry proxy timeout photos") == INSTRUCTION


def test_of_several_sentences_the_first_five_that_say_something_are_asked() -> None:
    said = [f"Sentence number {number} says something." for number in range(7)]
    assert sentences_of(" ".join([said[0], "Thanks a lot!", *said[1:]])) == []
    longer = [one.replace("something", "something else") for one in said]
    assert sentences_of("\n".join(["Hi there.", *longer])) == longer[:5]


def test_a_single_sentence_is_asked_as_the_whole_prompt_alone() -> None:
    assert sentences_of("Add a retry to the upload of photos, version 1.2, please.\n") == []


def test_one_of_two_sentences_that_says_something_is_asked() -> None:
    assert sentences_of("Add a retry to the upload. Thanks!") == ["Add a retry to the upload."]


def test_what_prompts_asked_is_said_by_the_last_two_that_say_what_the_work_is_about() -> None:
    first, second, third = (
        f"{name} of the orders are sent twice\n since Monday" for name in ("Bills", "Mails", "Parcels")
    )
    asked = asked_in([first, second, "yes, go on", third, "and the other one?"])
    assert (
        asked
        == "Mails of the orders are sent twice since Monday / Parcels of the orders are sent twice since Monday"
    )
    assert asked_in(["yes, go on", "the deploy hangs"]) == ""
    assert asked_in(["the nightly deploy hangs"]) == "the nightly deploy hangs"
    assert asked_in([f"begins with three words {'x' * 5_000}"]) == "begins with three words"
    assert (
        asked_in(["some good words " * 18 + "two more words"])
        == ("some good words " * 18).strip() + " two more"
    )
