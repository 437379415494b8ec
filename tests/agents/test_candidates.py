"""Candidates in the text of a session: sentences that its writer marked, few, each once, within limits."""

from __future__ import annotations

import pytest
from hookkit import SAID
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.agents.candidates import LONGEST, MOST, find_candidates

CAUSE = SAID.split("\n", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Root cause: the clock of the worker runs ahead of the broker's.", "EDGE_CASE_DISCOVERY"),
        ("- **Decision:** keep the queue in Postgres, because nobody runs Redis.", "ARCHITECTURAL_DECISION"),
        ("**Lesson learned**: mount the sysroot before the first make run.", "PATTERN_OUTCOME"),
        ("Gotcha: `fetch` follows redirects across origins by default here.", "EDGE_CASE_DISCOVERY"),
        ("1. The root cause was a timeout of ninety seconds in the proxy.", "EDGE_CASE_DISCOVERY"),
        ("Never call commit inside the loop because each one flushes the log.", "PATTERN_OUTCOME"),
        ("### Workaround: set LANG=C before the locale tests are started", "IMPLEMENTATION_FRICTION"),
    ],
)
def test_a_marked_sentence_is_a_candidate(text: str, category: str) -> None:
    (found,) = find_candidates(f"I looked at it for a while.\n\n{text}\n\nAll tests pass now.")
    assert found.category == category
    assert found.content[0].isalnum()


@pytest.mark.parametrize(
    "text",
    [
        "I fixed the bug and all tests pass. Let me know if you want anything else done here.",
        "Root cause: unknown",
        "Root cause (to be filled in by whoever is on call that night): ______",
        "Turns out the ticket of `cron` was closed in May already, so I skipped that.",
        "What is the root cause: is it the broker or is it the client of the broker?",
        "The decision: well, that was discussed by the team at great length and settled by nobody.",
        "```\nRoot cause: this is printed by a program and is not what the agent says\n```",
        "Learned nothing new in this session that would be worth writing down at all.",
        "Root cause: " + "x" * LONGEST,
        "The fix is in, the decision is made, the lesson is learned and the outcome is good.",
    ],
)
def test_other_text_has_no_candidates(text: str) -> None:
    assert find_candidates(text) == []


def test_a_labelled_cause_ends_before_the_account_of_what_was_done() -> None:
    cause = "Cause: the clock of `cron` is that of the host. It ignores the zone of the container."
    (found,) = find_candidates(f"**Cause:** {cause[7:]} I set `TZ` in the unit. Restarted it, too.")
    assert found.content == cause


def test_a_cause_ends_before_a_clause_about_what_was_done() -> None:
    (found,) = find_candidates(
        "Turns out `cron` ignores the zone of the container; I set `TZ` in `cron.sh` and it passes."
    )
    assert found.content == "Turns out `cron` ignores the zone of the container."
    (whole,) = find_candidates("Root cause: `cron` may be used by one container at a time, and I can say so.")
    assert whole.content.endswith("and I can say so.")


def test_a_label_within_a_paragraph_begins_a_candidate() -> None:
    (found,) = find_candidates(
        "I ran it at each hour. Takeaway: pin the clock of `cron` in every test of the plan."
    )
    assert (found.content, found.label) == (
        "Takeaway: pin the clock of `cron` in every test of the plan.",
        "lesson",
    )


def test_a_possible_cause_is_no_candidate() -> None:
    assert (
        find_candidates("Possible root cause: `cron` keeps the clock of the host and not the container's.")
        == []
    )
    assert find_candidates("It turned out that `cron` might keep the clock of the host.") == []
    (found,) = find_candidates("Root cause: `cron` ignores an unknown zone and keeps the clock of the host.")
    assert found.label == "root-cause"


def test_there_are_few_candidates_and_each_once() -> None:
    text = "\n\n".join(f"Gotcha: number {n} of the many gotchas of this library." for n in range(9))
    assert len(find_candidates(text)) == MOST
    assert len(find_candidates(f"{CAUSE}\n\n{CAUSE.upper()}\n\n{CAUSE}")) == 1


@given(st.text(max_size=400))
def test_candidates_of_any_text_keep_the_limits(text: str) -> None:
    found = find_candidates(text)
    assert len(found) <= MOST
    assert all(len(one.content) <= LONGEST for one in found)
