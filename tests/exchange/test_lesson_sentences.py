"""Sentences that state a lesson, by a label or by their structure; plans, questions and remarks state none."""

from __future__ import annotations

import pytest

from engram.domain.exchange.lesson_sentences import (
    labelled_category,
    lesson_category,
    reports_action,
    sentences,
    stated_category,
    without_lead,
)

UNSURE = "`asyncpg` does not support prepared statements behind PgBouncer."


def test_a_paragraph_is_split_into_sentences_without_list_marks() -> None:
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
def test_a_sentence_states_a_lesson_by_its_structure_if_it_names_something(
    sentence: str, category: str
) -> None:
    assert lesson_category(sentence) == category


def test_more_counts_about_a_fixed_failure_and_only_decisions_of_a_person() -> None:
    assert lesson_category(UNSURE) == ""
    assert lesson_category(UNSURE, of_fix=True) == "DEPENDENCY_BEHAVIOR"
    found = "It turned out that `fetch` follows redirects across origins."
    assert lesson_category(found, of_person=True) == ""
    assert lesson_category("Never commit `.env` files.", of_person=True) == "PREFERENCE"


@pytest.mark.parametrize(
    "said",
    [
        "btw always run the linter before you open a request",
        "hmm, we never stub the clock in this suite",
        "I prefer small commits over squashed ones",
        "the printer is shared with the other floor, so never leave jobs in its queue",
        "But titles must begin with the ticket because the board reads them",
        "use the enum, not plain words, in whatever the gate reads",
        "This is a monorepo, installing in a package breaks the others",
        "Nice. Legal requires that names in fixtures are made up",
        "one thing up front: we only ship on Tuesdays, the vendor needs the notice",
        "for anything in the kernel folder: no allocation after boot",
        "I prefer table-driven checks in Go",
        "we agreed with the auditors that amounts are rounded at the last step only",
        "the files are signed elsewhere, so we can't add keys to them",
        "and please name flags with dashes, not in camelCase",
        "rule for this repo: no inner markup, the store takes weeks because of it",
        "nothing in the audio path may lock or allocate",
        "whatever leaves the house has to go through the outbox, so the desk can hold it back",
        "the map always uses the colours of the weather office",
        "we're on barges here, please don't send trucks, it blocks the quay",
        "no rush, but please don't commit drawings, it bloats the archive",
        "nothing gets released between the tides",
        "use knots, not km/h",
        "in letters please use metres, not yards, and round them",
        "and never re-record the tides just to please the printer",
        "no yards in the log from now on, we sort by it",
        "hands off the old charts, always: they are lent",
        "everything in the hull is metric, only the flags are not",
        "in this tree each patch has a number in front",
        "keep in mind that a berth is never given away twice",
        "and please remember: times go into the log as they came, the pilots read it",
        "in general: no clocks in tests, inject one",
        "from now on put weights in grams",
        "speeds are knots everywhere, other units exist only at the edge",
        "we promise silence, so names of guests never go into any log, not even for tests",
        "a new column always takes two steps here: add first, drop later",
        "I prefer that you write the drawings by hand, no generator",
        "for all tides use the chart's zero please, not that of the town",
        "I decided we stay on the old chart until autumn, the new one breaks the printer",
        "please use the Danish names of the fields, not translations, the office sends them back",
        "we settled on polling for the buoys, not push, as push lost two of them",
        "chart dates everywhere please, the others bit us twice",
        "on our wards a night belongs to the day on which it began",
    ],
)
def test_conventions_that_a_person_states_in_passing_are_lessons(said: str) -> None:
    (sentence,) = sentences(said, spoken=True)[-1:]
    assert lesson_category(without_lead(sentence), of_person=True) in (
        "PREFERENCE",
        "TESTING_STRATEGY",
        "ARCHITECTURAL_DECISION",
    )


@pytest.mark.parametrize(
    "said",
    [
        "never mind, it was my own mistake all along",
        "use the second picture for the header of the page",
        "we don't know yet which of the two it will be",
        "the app always crashes when I open the plan, never with the other one",
        'put this into the file: "We never open the gate after dusk, stranger."',
        "please keep the title as it is and go on with the rest",
        "you have to look at it again because the list is empty",
        "the big job never finishes, the broker drops the connection",
        "thanks, looks good to me",
        "use the spare buoy for this run, not the one in the yard, Dana is at it",
        "please use the test harbour for now, not the real one, and stop there",
        "use the knots, not the other ones",
        "the dome stops at noon, always, since Monday",
        "the monthly list should go out by mail from now on",
        "legal wants to know which of the files we may keep",
        "the rows never come out in the test, the real thing is fine",
    ],
)
def test_a_persons_instruction_for_this_once_is_not_a_rule(said: str) -> None:
    assert [lesson_category(without_lead(one), of_person=True) for one in sentences(said, spoken=True)] in (
        [""],
        ["", ""],
    )


def test_reports_of_work_and_of_the_present_state_are_not_lessons() -> None:
    for deed in (
        "I set `TZ` in the unit.", "Restarted the unit.", "The unit now has a zone.", "You'll see it tonight.",
        "All 40 tests pass.", "The zone has been set.", "The migration is not applied.",
        "The other zones weren't tried.", "Nothing of it is merged.",
        "We only added the zone.",
    ):  # fmt: skip
        assert reports_action(deed), deed
    for held in ("`cron` ignores the zone.", "Nothing reads the zone.", "The unit's zone is the host's."):
        assert not reports_action(held), held


def test_a_label_decides_and_a_text_longer_than_a_lesson_states_none() -> None:
    assert labelled_category("2. **Workaround**: set LANG=C first.") == "IMPLEMENTATION_FRICTION"
    assert labelled_category("We decided to keep Postgres.") == "ARCHITECTURAL_DECISION"
    assert labelled_category("The workaround was easy.") == ""
    assert stated_category("Heading\n\nDecision: keep Postgres.") == "ARCHITECTURAL_DECISION"
    assert stated_category("Prefer tabs over spaces.") == "PREFERENCE"
    assert stated_category("Decision: keep Postgres. " + "x" * 700) == ""
