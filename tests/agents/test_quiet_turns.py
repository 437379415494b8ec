"""Prompts that ask for nothing: thanks, agreement, going on, remarks; how many words they have is exact to one."""

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
    ],
)
def test_a_prompt_that_only_thanks_agrees_or_goes_on_asks_for_nothing(prompt: str) -> None:
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
def test_a_prompt_that_asks_or_tells_to_do_something_new_does_ask(prompt: str) -> None:
    assert not quiet_turns.asks_for_nothing(prompt)
