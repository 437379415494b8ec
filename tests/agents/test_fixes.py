"""Failures paired with what fixed them: the same command, a file changed in between, and somebody who says why."""

from __future__ import annotations

from engram.domain.agents.candidates import candidates
from engram.domain.agents.fixes import ASKED, CHANGED, FAILED, PASSED, SAID, Fix, Step, fixes, keys_of

OUTPUT = "E   ConnectionError: broker refused the handshake\n1 failed"
WHY = "Root cause: the handshake of the broker fails because TLS 1.1 is switched off since version 3.2."
FAILURE = Step(FAILED, "uv run pytest tests/test_queue.py -q", OUTPUT)
CHANGE = Step(CHANGED, "src/queue.py")
PASS = Step(PASSED, "pytest tests/test_queue.py")


def test_a_failure_a_change_and_the_same_command_passing_are_a_fix_with_its_explanation() -> None:
    (found,) = fixes([FAILURE, CHANGE, CHANGE, PASS, Step(SAID, WHY)])
    assert found == Fix(
        WHY, "EDGE_CASE_DISCOVERY", "pytest tests/test_queue.py",
        "ConnectionError: broker refused the handshake", ("src/queue.py",)
    )  # fmt: skip
    assert found.content == (
        f"{WHY}\n\nSeen as `pytest tests/test_queue.py` failing with: ConnectionError: broker refused the handshake"
    )


def test_a_fix_says_what_the_prompts_before_the_failure_asked() -> None:
    before, after = (
        Step(ASKED, "Why does the queue stop at night?"),
        Step(ASKED, "Now tidy up the old tests."),
    )
    (found,) = fixes([before, FAILURE, after, CHANGE, PASS, Step(SAID, WHY)])
    assert found.asked == before.text


def test_without_a_change_an_explanation_or_a_pass_there_is_no_fix() -> None:
    said = Step(SAID, WHY)
    assert fixes([FAILURE, PASS, said]) == []
    assert fixes([FAILURE, CHANGE, PASS, Step(SAID, "All tests pass now.")]) == []
    assert fixes([FAILURE, CHANGE, said]) == []
    assert fixes([FAILURE, CHANGE, Step(PASSED, "cargo test"), said]) == []
    assert fixes([FAILURE, CHANGE, PASS, *[Step(SAID, "Done.")] * 3, said]) == [], "too long after"
    assert fixes([FAILURE, CHANGE, PASS, *[Step(PASSED, "ls")] * 3, said]) != []


def test_about_a_fix_a_plain_sentence_explains_what_would_otherwise_state_no_lesson() -> None:
    plain = "`asyncpg` does not support prepared statements behind PgBouncer."
    assert candidates(plain) == []
    (found,) = fixes([FAILURE, CHANGE, PASS, Step(SAID, plain)])
    assert (found.explanation, found.category) == (plain, "DEPENDENCY_BEHAVIOR")


def test_where_the_prompt_reported_the_problem_a_fix_needs_no_word_for_its_cause() -> None:
    why = "The handshake of `broker` 3.2 offers TLS 1.3 only, while the client stops at 1.2."
    done = [
        FAILURE,
        CHANGE,
        PASS,
        Step(SAID, f"The queue starts again. {why} I raised the client's version."),
    ]
    assert fixes(done) == fixes([Step(ASKED, "Upgrade the client, please."), *done]) == []
    (found,) = fixes([Step(ASKED, "Why does the queue refuse to start?"), *done])
    assert found.explanation == why


def test_what_was_changed_explains_nothing_but_a_workaround_does() -> None:
    for label, count in (("Fix", 0), ("Workaround", 1)):
        said = Step(SAID, f"{label}: raised the version of the client in `queue.toml` to 2.8.")
        assert len(fixes([FAILURE, CHANGE, PASS, said])) == count


def test_of_two_explanations_the_one_nearer_to_the_error_counts_and_each_counts_once() -> None:
    other = "Root cause: the clock of the worker runs ahead of the clock of the scheduler by an hour."
    again = [FAILURE, CHANGE, PASS]
    (found,) = fixes([FAILURE, CHANGE, Step(SAID, WHY), PASS, Step(SAID, other), *again])
    assert found.explanation == WHY


def test_a_command_is_known_by_its_program_and_subcommand_else_by_the_file_it_runs() -> None:
    assert keys_of("cd /srv && cargo test --all") == {("cargo", "test"): "cargo test"}
    assert keys_of("python tools/fill.py --fast") == {("python", "tools/fill.py"): "python tools/fill.py"}
    assert keys_of("ls -l src && cat README.md") == {}
