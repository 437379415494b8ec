"""The explanation in a report on a solved problem: the sentence that relates facts, not deeds, checks or plans."""

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
        f"Solved.\n\n**Reason.** {WHY}",
        f"Solved.\n\n### What happens\n\n1. `make dist` writes the archive.\n2. {WHY}\n\n### Changes\n\n- `pack.sh` drops it",
        f"It works now. That's older than you would think: {WHY[0].lower()}{WHY[1:]}",
    ],
)
def test_the_explanation_is_found_anywhere_in_a_report(report: str) -> None:
    found = find_explanation(report)
    assert found is not None
    assert (found.content, found.category) == (WHY, "EDGE_CASE_DISCOVERY")


def test_the_more_specific_of_two_explanations_is_chosen() -> None:
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
        "Fixed. `pack.sh` is untouched; `make dist` reads every file.",
        "Fixed. `tar` keeps ids, and `make dist` and `pack.sh` both succeed.",
        "Fixed. The archive has to be rebuilt, so `make dist` takes two hours.",
        "Fixed. My notes are in `tar.md`, so every host can read them.",
        "Fixed. Wip of ids`, and the tree of the host is at `e41d0c7`.",
        "Fixed. Drop `tar`'s owner before packing, and `pack.sh` reads every file.",
        f"Solved.\n\n### Steps\n\n1. `make dist` writes the archive.\n2. {WHY}",
        "Fixed. This is because `tar` keeps the owner's id.",
        "Fixed. You should see it on every host once `make dist` ran.",
        "Fixed.\n\n- `pack.sh`: the owner's id is not kept, so every host can read the files\n\nIs `make dist` all you need?",
        "Fixed. It was not the archive that was to blame but the mask of the folder.",  # names nothing
        f"Fixed. {WHY} " + "And there is much more to say about it. " * 60,
    ],
)
def test_open_problems_deeds_and_vague_sentences_are_no_explanation(report: str) -> None:
    assert find_explanation(report) is None


def test_a_prompt_reports_a_problem_or_continues_one_that_does() -> None:
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


@pytest.mark.parametrize(
    "prompt",
    [
        "archives unpack in the wrong order of names",
        "the build host gets a folder that belongs to nobody",
        "unpacking returns 0 after ctrl-c, should be 130",
        "the archive of the nightly job grows by the hour, can you look into it?",
        "Same input, same seed, and two archives come out. I thought the seed settles that?",
        "debug the archive of the build host",
        "archives for hosts without a name come out with nobody's",
    ],
)
def test_a_prompt_that_describes_a_malfunction_reports_a_problem(prompt: str) -> None:
    assert reports_problem([prompt])


@pytest.mark.parametrize(
    "prompt",
    [
        "rotate the keys of the build hosts",
        "audit our archives and say what is still missing in them",
        "walk me through the way from the archive to the host",
        "what's the difference between the two kinds of archive again",
        "I'm new. What is in the archive and why are there two of them?",
        "or does it depend on the host whether they are packed",
        "we never delete an archive, not even duplicates. now write the finder of duplicates",
        "is there any host without an archive",
        "the second archive is fine for me",
    ],
)
def test_instructions_questions_agreement_and_rules_report_no_problem(prompt: str) -> None:
    assert not reports_problem([prompt])


@pytest.mark.parametrize(
    "cause",
    [
        "`tar` keeps the owner's id of the host, and the build host has no such user.",
        "The old `tar` keeps the owner's id; the new one drops it.",
        "To be read on the build host, the archive has to be packed with `--no-same-owner`.",
    ],
)
def test_juxtaposed_facts_and_requirements_are_explanations_too(cause: str) -> None:
    found = find_explanation(f"It unpacks again. {cause}")
    assert found is not None
    assert found.content == cause
