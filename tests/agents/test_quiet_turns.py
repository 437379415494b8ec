"""Prompts that ask for nothing (thanks, agreement, remarks that all is well), and prompts that do.

Equivalent mutants: the most words of a quiet turn changed by one.
"""

from __future__ import annotations

import pytest

from engram.domain.agents import quiet_turns


@pytest.mark.parametrize(
    "prompt",
    [
        "thanks, that's all I wanted",
        "Thank you!",
        "ok, go on",
        "yes please continue with the next one",
        "great, Falcon works again",
        "alright, keep going with the Falcon part",
        "right, and the same for the second one",
        "sounds good, ship it",
        "Thanks! The tests pass now.",
        "that's what I meant",
        "no worries, that one is fine",
    ],
)
def test_thanks_agreement_and_go_on_ask_for_nothing(prompt: str) -> None:
    assert quiet_turns.asks_for_nothing(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Falcon is up again, thanks a lot",
        "Falcon’s stable now. cheers",
        "phew, falcon survived the weekend",
        "good, Nováková likes the new wording",
        "ok, lindqvist has the build. enough for today",
        "the falcon export looks great now",
        "falcon replied and they like it",
        "thanks for looking into the falcon thing",
        "good job on the falcon migration",
        "no complaints from falcon so far, great",
        "aha, so falcon was the problem. thanks",
        "lovely :) falcon takes the large files now",
        "falcon finished in time tonight, nice work",
        "all right then, off to the falcon room",
        "hah, typical lindqvist",
        "search works again, thank you",
        "yep falcon answers in 2 seconds now instead of 9",
        "lindqvist says thanks too",
        "agreed, lindqvist said the same thing",
        "you were right about the falcon thing btw",
        "leave the falcon part as it is",
        "cheers, will tell lindqvist",
        "seen it, I'll ask lindqvist myself",
        "the falcon warnings are gone, lovely",
        "great. falcon flies through the night jobs now",
        "super, falcon replies with 204 again!",
        "wow, the falcon board hasn't looked this calm since May. good work",
        "lindqvist says thanks btw, nice drawings",
        "upload to falcon went fine this time, thank you",
        "release is with lindqvist, we can relax",
        "understood, thanks for showing me the falcon part",
        "falcon test is stable now, 30 out of 30. great",
        "falcon is in, I see the two rows. go on",
        "I told lindqvist it was you who saw it, she says well done",
        "fine by lindqvist, fine by me. send it",
        "ok, lindqvist wrote back, solved. you can close it",
        "yes the falcon one, go ahead",
        "thanks, also from lindqvist, the page never looked this tidy",
        "right, lindqvist closed the request, nothing left to do here",
        "got it, so that's the falcon part of it done",
        "no worries about the falcon typo, happens",
    ],
)
def test_a_remark_that_all_is_well_asks_for_nothing_whatever_it_names(prompt: str) -> None:
    assert quiet_turns.asks_for_nothing(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "thanks, how does Falcon retry?",
        "ok, add a retry to Falcon so that the tests are green",
        "great, but Falcon works only on my machine",
        "why does the build continue after a failure",
        "next to the button there is a gap, close it",
        "ask Falcon for the list of users",
        "thanks, that works. Please have a look at the second thing as well: the invoices of March that we have sent to Falcon",
    ],
)
def test_a_question_or_a_new_instruction_asks_for_something(prompt: str) -> None:
    assert not quiet_turns.asks_for_nothing(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "write the client for falcon, thanks",
        "thanks, now the same for Falcon's staging environment",
        "great, and then deploy falcon",
        "lgtm, merge it and upload the scans to falcon",
        "ok do it with falcon",
        "right, new labels for lindqvist",
        "thank you. falcon got killed again though",
        "ok, falcon isn't working again",
        "falcon retries while the report is running",
        "Falcon answers 200 and loses the order",
        "good, release it with falcon",
        "does falcon work now",
        "I moved the job to falcon, adjust the docs",
        "ok now I have the falcon file, load it",
        "yes, in falcon",
        "deploy falcon to staging now",
        "ok start falcon now",
        "upload the scans to falcon",
        "great, deploy to falcon and tell me when it is up",
        "results of falcon that were sent earlier replace the right ones",
        "the falcon warnings are gone but the errors are not",
    ],
)
def test_thanks_do_not_hide_a_request_a_problem_or_a_requested_name(
    prompt: str,
) -> None:
    assert not quiet_turns.asks_for_nothing(prompt)
