"""What an event comes to before an agent sees it: the parts that are put together, bounds, and what is left for later.

Mutants that make no difference: one more of a bound; a tenth more of the share that was fitted for errors; an extra second of
a day after which marks go; `None` for `False`, `""` or no files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from apikit import ok, open_test_store
from gitkit import git
from hookkit import ABOUT_FILE, CLAUDE, ERROR, FAILURE, LESSON, PROMPT, make_store

from engram.adapters.state.hook_memory import ASKED, CHANGED, LEFT, TRANSCRIPT, HookMemory
from engram.domain.recall.budget import tokens
from engram.hooks import events
from engram.hooks.events import QUESTION, SYNC, TIDY, Reply
from engram.hooks.payload import Payload
from engram.usecases.agents import auto_recall
from engram.usecases.agents.brief import RULES
from engram.usecases.agents.handoffs import handoff
from engram.usecases.store.store import Clock, Store

DAY = 86_400
THANKS = "thanks, that was it"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path)


@pytest.fixture
def store(root: Path) -> Iterator[Store]:
    with open_test_store(root, session="s1", agent=CLAUDE, clock=Clock()) as engram:
        yield engram.store


def at(root: Path, **said: object) -> Payload:
    return Payload(session="s1", cwd=str(root))._replace(**said)  # type: ignore[arg-type]


def prompted(store: Store, text: str) -> str:
    return events.prompt(store, at(Path(store.places.root), prompt=text), CLAUDE).text


def test_parts_have_one_empty_line_between_them_and_none_around(store: Store, root: Path) -> None:
    started = events.session_start(store, at(root, source="startup"), CLAUDE)
    assert started.later == SYNC
    assert started.text.startswith(RULES)
    assert LESSON in started.text
    resumed = events.session_start(store, at(root, source="resume"), CLAUDE)
    assert resumed == Reply("", SYNC), "all of it was said"
    assert events.session_start(store, at(root), "goose") == Reply("", SYNC), "it takes no answer"
    with open_test_store(root, session="s2", agent=CLAUDE, clock=Clock()) as engram:
        about = prompted(engram.store, PROMPT)
        assert about.startswith("<engram-lore>")
        assert about.endswith("</engram-lore>")
        events.stop(engram.store, at(root), CLAUDE)
        asked = prompted(engram.store, THANKS)
        assert asked.startswith(QUESTION)
        make = at(root, tool="Bash", command="make", error=ERROR)
        failed = events.tool_failure(engram.store, make, CLAUDE).text
        assert FAILURE in failed
    for text in (started.text, about, asked, failed):
        assert text == text.strip()
        assert "\n\n\n" not in text
    for event in (events.prompt, events.before_tool, events.tool_failure):
        assert event(store, at(root, prompt="nothing of the sort", error="no"), CLAUDE) == Reply()


@pytest.mark.parametrize(("name", "receiver"), [("bob", "bob"), ("", CLAUDE)])
def test_work_is_handed_to_an_agent_by_the_name_that_it_has_here(
    root: Path, name: str, receiver: str
) -> None:
    with open_test_store(root, session="s1", agent=name, clock=Clock()) as engram:
        handoff(engram.store, "Finish the valve.", to=receiver, giver="ann")
        text = events.session_start(engram.store, at(root, source="resume"), CLAUDE).text
        assert "Finish the valve." in text
        assert text == text.strip()


def test_a_session_start_deletes_marks_older_than_thirty_days(store: Store, root: Path) -> None:
    memory, now = HookMemory(store.state), store.clock.now().timestamp()
    for days in (29.9, 30.1):
        memory.mark("kind", "old", str(days), now - days * DAY)
    events.session_start(store, at(root), CLAUDE)
    assert memory.marked("kind", "old") == {"29.9"}


def test_a_prompt_of_twelve_characters_is_the_shortest_that_is_answered(root: Path) -> None:
    ok("record", "The mill is old.", "-c", "fact", "--file", "a/mi.py", cwd=root)
    with open_test_store(root, session="s1", agent=CLAUDE, clock=Clock()) as engram:
        assert prompted(engram.store, "in a/mi.py?") == ""
        assert "The mill is old." in prompted(engram.store, " see a/mi.py? ")


def test_a_deferred_question_is_dropped_if_nothing_is_left_to_ask(store: Store, root: Path) -> None:
    assert LESSON in prompted(store, PROMPT)
    events.stop(store, at(root), CLAUDE)
    (ref,) = store.session_state.refs("s1")
    with open_test_store(root, session="s1", agent=CLAUDE, clock=Clock()) as engram:
        engram.feedback(helpful=ref.id)
    assert prompted(store, THANKS) == ""
    found = prompted(store, "why does make fail with undefined symbol tls_get_addr?")
    assert FAILURE in found
    assert QUESTION not in found


def test_feedback_is_asked_once_a_session_for_at_most_five_entries(root: Path) -> None:
    with open_test_store(root, session="s1", agent=CLAUDE, clock=Clock()) as engram:
        store = engram.store
        for number in range(7):
            engram.record(f"The valve number {number} leaks.", category="FACT")
        shown = [one.lore.id for one in engram.list(limit=7).lore]
        memory, now = HookMemory(store.state), store.clock.now().timestamp()
        engram.query("valve leaks", k=7)
        for lore_id in shown:
            memory.mark("recalled", "s1", lore_id, now)
        stopped = at(root, continued=True)
        assert events.stop(store, stopped, "cursor") == Reply()
        asked = events.stop(store, at(root), "cursor").text
        assert asked.count("The valve number") == 5
        assert events.stop(store, at(root), "cursor").text == ""
        assert memory.marked(ASKED, "s1")
        events.stop(store, at(root), CLAUDE)
        assert memory.marked(LEFT, "s1") == set(), "it was asked"


def test_a_prompt_about_a_file_names_the_entry_above_even_if_no_words_match(store: Store, root: Path) -> None:
    text = "is the licence header missing from src/queue.py as well as from the docs folder?"
    assert (
        ABOUT_FILE in events.before_tool(store, at(root, tool="Edit", files=("src/queue.py",)), CLAUDE).text
    )
    assert "[L1] above answers this" in prompted(store, text)


def test_a_command_of_two_words_is_too_common_to_recall_by(root: Path) -> None:
    ok("record", "Never run terraform apply on staging without the lock table.", "-c", "workflow", cwd=root)
    for session, command, comes in (
        ("s1", "terraform apply", False),
        ("s2", "terraform apply staging", True),
    ):
        with open_test_store(root, session=session, agent=CLAUDE, clock=Clock()) as engram:
            found = events.before_tool(engram.store, at(root, tool="Bash", command=command), CLAUDE).text
            assert ("lock table" in found) == comes
            if not comes:
                assert "lock table" in auto_recall.recall_for_text(engram.store, command), (
                    "if it were asked about"
                )


def test_recall_uses_the_first_four_files_of_a_command(store: Store, root: Path) -> None:
    files = [f"src/{name}.py" for name in "abcd"]
    read = {"tool": "Bash", "call": "1"}
    many = " ".join(["wc -l", *files, "src/queue.py"])
    assert events.before_tool(store, at(root, command=many, **read), CLAUDE) == Reply()
    twice = " ".join(["wc -l", *files[:3], files[0], "src/queue.py"])
    assert ABOUT_FILE in events.before_tool(store, at(root, command=twice, **read), CLAUDE).text
    written = at(root, tool="Edit", files=(str(root.parent / "elsewhere.py"), str(root / "src/queue.py")))
    with open_test_store(root, session="s2", agent=CLAUDE, clock=Clock()) as engram:
        assert ABOUT_FILE in events.before_tool(engram.store, written, CLAUDE).text


def test_the_outcome_of_a_tool_comes_from_the_event_that_an_agent_has_for_it(
    store: Store, root: Path
) -> None:
    events.after_tool(store, at(root, tool="Edit", files=("a.py",)), CLAUDE)
    assert HookMemory(store.state).marked(CHANGED, "s1") == {"a.py"}
    ended = {"tool": "Bash", "command": "make all", "output": ERROR}
    assert events.after_tool(store, at(root, failed=True, **ended), CLAUDE) == Reply(), "another event tells"
    assert FAILURE in events.after_tool(store, at(root, failed=True, **ended), "codex").text
    with open_test_store(root, session="s2", agent="codex", clock=Clock()) as engram:
        other = engram.store
        assert events.after_tool(other, at(root, **ended), "codex") == Reply(), "it did not fail"
        assert (
            events.after_tool(other, at(root, exit_unknown=True, **{**ended, "output": "ok"}), "codex")
            == Reply()
        )
        edited = at(root, exit_unknown=True, files=("a.py",), **ended)
        assert events.after_tool(other, edited, "codex") == Reply(), "the text of a file is no error"
        assert events.tool_failure(other, at(root, interrupted=True, **ended), "codex") == Reply()
        assert FAILURE in events.after_tool(other, at(root, exit_unknown=True, **ended), "codex").text
        read = at(
            root, exit_unknown=True, tool="Shell", command="cat src/queue.py", output="error: nothing known"
        )
        assert ABOUT_FILE in events.after_tool(other, read, "gemini-cli").text
        assert events.after_tool(other, read._replace(call="again"), "codex") == Reply()


def test_a_subagent_gets_half_the_budget_and_four_entries(root: Path) -> None:
    with open_test_store(root, session="s1", agent=CLAUDE, clock=Clock()) as engram:
        for number in range(8):
            engram.record(f"The valve number {number} leaks.", category="FACT")
        text = events.subagent_start(engram.store, at(root), CLAUDE).text
        assert text.count("\n[L") == 4
    ok("config", "hooks.brief_budget", "200", "--user", cwd=root)
    with open_test_store(root, session="s2", agent=CLAUDE, clock=Clock()) as engram:
        engram.record(
            "A long entry. " + "It says more of the same valve again. " * 6, category="FACT", pinned=True
        )
        assert 66 < tokens(events.subagent_start(engram.store, at(root), CLAUDE).text) <= 100


def test_a_transcript_that_a_turn_named_is_read_when_the_session_ends(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events.stop(store, at(root, transcript="/there.jsonl"), "copilot-cli")
    assert HookMemory(store.state).marked(TRANSCRIPT, "s1") == {"/there.jsonl"}
    handed: list[tuple[str, str, bool]] = []
    from engram.usecases.agents import session_capture

    def hand_in(_: Store, report: session_capture.Report) -> bool:
        handed.append((report.event, report.transcript, report.whole))
        return True

    monkeypatch.setattr(session_capture, "submit_report", hand_in)
    assert events.session_end(store, at(root), "copilot-cli") == Reply(later=SYNC)
    assert events.session_end(store, at(root, transcript="/other.jsonl"), "copilot-cli") == Reply(later=SYNC)
    for event in (events.pre_compact, events.subagent_stop, events.task_completed):
        assert event(store, at(root, transcript="/a.jsonl"), "copilot-cli") == Reply(later=TIDY)
    assert events.stop(store, at(root, continued=True), "vscode") == Reply(later=TIDY)
    assert events.stop(store, at(root, continued=True), CLAUDE) == Reply()
    assert handed == [
        ("session-end", "/there.jsonl", True), ("session-end", "/other.jsonl", True), ("pre-compact", "/a.jsonl", False),
        ("subagent-stop", "", False), ("task-completed", "", False), ("stop", "", False),
    ]  # fmt: skip
    monkeypatch.setattr(session_capture, "submit_report", lambda *_: False)
    assert events.pre_compact(store, at(root), CLAUDE) == Reply()


def test_only_claude_code_is_told_the_session_and_a_file_that_cannot_be_written_is_no_error(
    store: Store, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "environment"
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(file))
    events.session_start(store, at(root), "codex")
    assert not file.exists()
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(tmp_path / "nowhere" / "file"))
    events.session_start(store, at(root), CLAUDE)


def test_paths_are_relative_to_the_repository_and_absolute_outside_it(root: Path) -> None:
    inside = root / "src"
    inside.mkdir(exist_ok=True)
    git(root, "init", "-q")
    outside = os.path.realpath(root.parent / "x.py")
    assert events._paths_from_top(str(inside), ["a.py", "../src/a.py", outside]) == ("src/a.py", outside)
    assert events._paths_from_top(str(inside), []) == ()
    assert len(events._paths_from_top(str(inside), [f"{n}.py" for n in range(30)])) == 20
    assert events._paths_from_top("/nowhere/at/all", ["a.py"]) == ("a.py",)
