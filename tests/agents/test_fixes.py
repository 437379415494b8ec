"""Failures paired with their fixes: the same command passes after a change of a file, with an explanation."""

from __future__ import annotations

from engram.domain.agents.candidates import find_candidates
from engram.domain.agents.fixes import ASKED, CHANGED, FAILED, PASSED, SAID, Fix, Step, find_fixes, keys_of

OUTPUT = "E   ConnectionError: broker refused the handshake\n1 failed"
CAUSE = "Root cause: the handshake of the broker fails because TLS 1.1 is switched off since version 3.2."
FAILURE = Step(FAILED, "uv run pytest tests/test_queue.py -q", OUTPUT)
CHANGE = Step(CHANGED, "src/queue.py")
PASS = Step(PASSED, "pytest tests/test_queue.py")


def test_a_failure_a_change_a_pass_and_an_explanation_make_a_fix() -> None:
    (found,) = find_fixes([FAILURE, CHANGE, CHANGE, PASS, Step(SAID, CAUSE)])
    assert found == Fix(
        CAUSE, "EDGE_CASE_DISCOVERY", "pytest tests/test_queue.py",
        "ConnectionError: broker refused the handshake", ("src/queue.py",)
    )  # fmt: skip
    assert found.content == (
        f"{CAUSE}\n\nSeen as `pytest tests/test_queue.py` failing with: ConnectionError: broker refused the handshake"
    )


def test_a_fix_has_the_prompts_before_the_failure() -> None:
    before, after = (
        Step(ASKED, "Why does the queue stop at night?"),
        Step(ASKED, "Now tidy up the old tests."),
    )
    (found,) = find_fixes([before, FAILURE, after, CHANGE, PASS, Step(SAID, CAUSE)])
    assert found.asked == before.text


def test_without_a_change_an_explanation_or_a_pass_there_is_no_fix() -> None:
    said = Step(SAID, CAUSE)
    assert find_fixes([FAILURE, PASS, said]) == []
    assert find_fixes([FAILURE, CHANGE, PASS, Step(SAID, "All tests pass now.")]) == []
    assert find_fixes([FAILURE, CHANGE, said]) == []
    assert find_fixes([FAILURE, CHANGE, Step(PASSED, "cargo test"), said]) == []
    assert find_fixes([FAILURE, CHANGE, PASS, *[Step(SAID, "Done.")] * 3, said]) == [], "too long after"
    assert find_fixes([FAILURE, CHANGE, PASS, *[Step(PASSED, "ls")] * 3, said]) != []


def test_for_a_fix_a_plain_sentence_is_enough_of_an_explanation() -> None:
    plain = "`asyncpg` does not support prepared statements behind PgBouncer."
    assert find_candidates(plain) == []
    (found,) = find_fixes([FAILURE, CHANGE, PASS, Step(SAID, plain)])
    assert (found.explanation, found.category) == (plain, "DEPENDENCY_BEHAVIOR")


def test_if_the_prompt_reported_the_problem_the_cause_needs_no_label() -> None:
    cause = "The handshake of `broker` 3.2 offers TLS 1.3 only, while the client stops at 1.2."
    steps = [
        FAILURE,
        CHANGE,
        PASS,
        Step(SAID, f"The queue starts again. {cause} I raised the client's version."),
    ]
    assert find_fixes(steps) == find_fixes([Step(ASKED, "Upgrade the client, please."), *steps]) == []
    (found,) = find_fixes([Step(ASKED, "Why does the queue refuse to start?"), *steps])
    assert found.explanation == cause


def test_a_described_change_explains_nothing_but_a_workaround_does() -> None:
    for label, count in (("Fix", 0), ("Workaround", 1)):
        said = Step(SAID, f"{label}: raised the version of the client in `queue.toml` to 2.8.")
        assert len(find_fixes([FAILURE, CHANGE, PASS, said])) == count


def test_of_two_explanations_the_one_nearer_to_the_error_is_used_once() -> None:
    other = "Root cause: the clock of the worker runs ahead of the clock of the scheduler by an hour."
    again = [FAILURE, CHANGE, PASS]
    (found,) = find_fixes([FAILURE, CHANGE, Step(SAID, CAUSE), PASS, Step(SAID, other), *again])
    assert found.explanation == CAUSE


def test_a_commands_key_is_its_program_and_subcommand_or_the_file_it_runs() -> None:
    assert keys_of("cd /srv && cargo test --all") == {("cargo", "test"): "cargo test"}
    assert keys_of("python tools/fill.py --fast") == {("python", "tools/fill.py"): "python tools/fill.py"}
    assert keys_of("ls -l src && cat README.md") == {}
