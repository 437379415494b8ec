"""What a report on a solved problem says was wrong: the sentence that relates facts, not what was done, checked or planned."""

from __future__ import annotations

import pytest

from engram.domain.agents.explanations import find_explanation, reports_problem

WHY = "`tar` keeps the owner's id, so the files belonged to nobody on the build host."


@pytest.mark.parametrize(
    "report",
    [
        f"The archive unpacks again.\n\n{WHY} I pass `--no-same-owner` to it.",
        f"Fixed. {WHY}",
        f"{WHY} I pass `--no-same-owner` to it.",
        f"Builds pass.\n\n## Why\n\n{WHY}\n\n## Changes\n\n- `pack.sh`: `--no-same-owner`",
        f"All 12 checks pass now, as before the upgrade.\n\n{WHY}\n\n**Tests**\n\nNothing but `pack.sh` is covered by them.",
        f"It works now. That's older than you would think: {WHY[0].lower()}{WHY[1:]}",
    ],
)
def test_the_sentence_that_explains_is_found_wherever_a_report_has_it(report: str) -> None:
    found = find_explanation(report)
    assert found is not None
    assert (found.content, found.category) == (WHY, "EDGE_CASE_DISCOVERY")


def test_of_two_sentences_that_explain_the_one_that_says_more_counts() -> None:
    found = find_explanation(f"Fixed. The archive came from `make dist`. {WHY}")
    assert found is not None
    assert found.content == WHY


@pytest.mark.parametrize(
    "report",
    [
        f"I have not been able to reproduce it yet. {WHY}",
        f"I narrowed it down, but it is not solved. {WHY}",
        "All 12 checks pass now. I changed `pack.sh`, because `tar` kept the owner's id.",
        "Fixed. The archive now unpacks on every host, since `tar` drops the owner's id.",
        "Fixed. Passing `--no-same-owner` drops the owner's id, so every host can read the files.",
        "Fixed. There's a check for the owner's id, so that no host drops it.",
        "Fixed. `pack.sh` is in, so every host drops the owner's id.",
        "Fixed. Ran it on the host 40 times, and `tar` never failed.",
        "Fixed. `pack.sh` runs without errors, `make dist` is the only one that warns.",
        "Fixed. The `-p` is there because `tar` drops the mode of each file.",
        "Fixed. This is because `tar` keeps the owner's id.",
        "Fixed. You should see it on every host once `make dist` ran.",
        "Fixed.\n\n- `pack.sh`: the owner's id is not kept, so every host can read the files\n\nIs `make dist` all you need?",
        "Fixed. It was not the archive that was to blame but the mask of the folder.",  # names nothing
        f"Fixed. {WHY} " + "And there is much more to say about it. " * 60,
    ],
)
def test_an_open_problem_deeds_and_what_names_or_relates_nothing_explain_nothing(report: str) -> None:
    assert find_explanation(report) is None


def test_a_prompt_reports_a_problem_itself_or_goes_on_with_one_that_does() -> None:
    reported = "the nightly archive can't be unpacked on the build host"
    assert reports_problem([reported])
    assert reports_problem([reported, "yes, use the other host"])
    elsewhere = "Then let us go on with the page for the owners and its four columns, as drawn in the sketch of Monday."
    assert not reports_problem([reported, elsewhere])
    assert not reports_problem(["add a column for the owner"])
    assert not reports_problem(
        [f"Write the importer. {'It reads a file and keeps what is new. ' * 12}Stop if it fails."]
    )
    assert not reports_problem([])
