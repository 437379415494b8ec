"""What hooks put before an agent: only what is strong, never twice in a session, framed as data, within a budget."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import ok, open_test_store
from hookkit import (
    ABOUT_FILE,
    CLAUDE,
    ERROR,
    FAILURE,
    LESSON,
    PROMPT,
    UNRELATED,
    answer,
    call,
    make_store,
    recalled_text,
    text_of,
)

from engram.adapters.state.activity_table import ActivityTable
from engram.domain.agents import fence
from engram.usecases.agents import auto_recall
from engram.usecases.recording.edit import Edit
from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path)


_ORDINARY = [  # of an entry that is about many things
    ("colour of the button", "season", "sketch", "drawer"),
    ("height of the desk", "decade", "plan", "cellar"),
    ("order of the books", "winter", "list", "hall"),
    ("water of the plants", "week", "can", "garden"),
    ("music of the lift", "month", "tape", "attic"),
    ("bread of the canteen", "day", "recipe", "kitchen"),
    ("lamp of the stairs", "year", "bulb", "box"),
    ("paint of the door", "spring", "tin", "shed"),
]


# --- the prompt


def test_a_prompt_gets_what_answers_it_strongly_and_nothing_else(root: Path) -> None:
    found = recalled_text("prompt", root)
    assert LESSON in found
    assert UNRELATED not in found
    assert ABOUT_FILE not in found


@pytest.mark.parametrize(
    "prompt",
    [
        "how do I bake bread with a sourdough starter?",
        "go on",
        "/compact",
        "   ",
        "thanks, looks good to me!",
    ],
)
def test_a_prompt_that_nothing_answers_strongly_gets_nothing(prompt: str, root: Path) -> None:
    assert answer(CLAUDE, "prompt", root, prompt=prompt) is None


@pytest.mark.parametrize("source", ["system", "loop_wakeup", "sdk"])
def test_a_prompt_that_no_person_typed_gets_nothing(source: str, root: Path) -> None:
    assert answer(CLAUDE, "prompt", root, source=source) is None


def test_rules_that_the_agent_reads_anyway_come_neither_with_a_prompt_nor_at_the_start(root: Path) -> None:
    with open_test_store(root) as engram:
        for shown in engram.list(limit=None).lore:
            engram.edit(shown.lore.id, Edit(tags=("agent-rules",)))
    assert answer(CLAUDE, "prompt", root) is None
    assert LESSON not in recalled_text("session-start", root)


def test_no_entry_comes_twice_in_a_session_but_again_in_another(root: Path) -> None:
    assert LESSON in recalled_text("prompt", root)
    again = recalled_text("prompt", root, prompt=PROMPT + " Please.")
    assert f"<engram-lore>\n[L1] above answers this:\n    {LESSON}\n</engram-lore>" in again
    assert LESSON not in recalled_text("session-start", root)
    assert LESSON in recalled_text("prompt", root, session_id="s2")


def test_after_compaction_what_was_shown_is_shown_anew_and_keeps_its_ref(root: Path) -> None:
    assert recalled_text("prompt", root).partition("\n[L1] ")[2].split("\n")[1].strip() == LESSON
    assert (
        recalled_text("session-start", root, source="compact").partition("\n[L1] ")[2].split("\n")[1].strip()
        == LESSON
    )


def test_a_resumed_session_is_not_told_again(root: Path) -> None:
    assert LESSON in recalled_text("session-start", root)
    assert answer(CLAUDE, "session-start", root, source="resume") is None


def test_a_session_begins_with_the_latest_lines_of_the_activity_log_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        recalled_text("prompt", root, session_id=f"earlier {number}")
    monkeypatch.setattr(ActivityTable.prune, "__defaults__", (1,))
    recalled_text("session-start", root, session_id="now")
    with open_test_store(root, clock=Clock()) as engram:
        assert len([one for one in engram.live() if one.session.startswith("earlier")]) <= 1


def test_refs_are_those_that_feedback_takes(root: Path) -> None:
    recalled_text("prompt", root)
    done = ok("feedback", "--helpful", "L1", cwd=root)
    assert "0.70 → 0.78" in done.out


def test_the_retrieval_log_has_what_was_shown(root: Path) -> None:
    recalled_text("prompt", root)
    with open_test_store(root) as engram:
        (entry,) = engram.store.state.retrievals()
        assert (entry.query, entry.session, entry.strength) == (PROMPT, "s1", "strong")
        assert list(entry.ids) == list(engram.session_refs().values())


def test_a_prompt_that_names_a_file_gets_what_names_it_and_then_what_answers(root: Path) -> None:
    found = recalled_text("prompt", root, prompt="what is there to know before I touch src/queue.py?")
    assert ABOUT_FILE in found
    both = recalled_text("prompt", root, prompt=f"`src/queue.py`: {PROMPT}", session_id="s2")
    assert both.index(ABOUT_FILE) < both.index(LESSON)
    assert both.count(ABOUT_FILE) == both.count(LESSON) == 1


def test_a_prompt_about_a_file_whose_entry_stands_above_gets_its_ref_alone(root: Path) -> None:
    assert ABOUT_FILE in recalled_text("pre-tool", root)
    again = recalled_text("prompt", root, prompt="anything else about src/queue.py?")
    assert f"<engram-lore>\n[L1] above answers this:\n    {ABOUT_FILE}\n</engram-lore>" in again


@pytest.mark.parametrize("named", ["src/other.py", "https://a.example/src/queue.py", "and/or", "queue"])
def test_a_prompt_that_names_no_file_of_an_entry_gets_none_by_files(named: str, root: Path) -> None:
    assert ABOUT_FILE not in (answer(CLAUDE, "prompt", root, prompt=f"have a look at {named}") or "")


def test_an_instruction_gets_an_entry_that_is_too_weak_for_a_question(root: Path) -> None:
    assert LESSON in recalled_text(
        "prompt", root, prompt="write a consumer that copes with messages that come twice"
    )
    asked = "how does a consumer cope with messages that come twice"
    assert answer(CLAUDE, "prompt", root, prompt=asked, session_id="s2") is None


CHATTER = (
    "I have been looking at this for an hour and I am stuck. {} Keep the change small, add a test for it and do not "
    "touch anything else. Please explain what you did in a short summary at the end, I want to paste it into the pull request."
)


def test_one_sentence_of_a_long_prompt_gets_its_answer(root: Path) -> None:
    telling = CHATTER.format("The consumer has to be idempotent.")
    with open_test_store(root) as engram:
        assert auto_recall.recall_for_text(engram.store, telling, bar=0.8) == "", (
            "the whole of it is too much"
        )
    assert LESSON in recalled_text("prompt", root, prompt=telling)
    assert answer(CLAUDE, "prompt", root, prompt=CHATTER.format("Thanks!"), session_id="s2") is None


def test_without_an_index_no_sentence_is_asked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engram.usecases.recall import query as recall

    real = recall.query
    monkeypatch.setattr(
        auto_recall, "query", lambda store, asked: real(store, asked._replace(strategy=recall.SCAN))
    )
    monkeypatch.setattr(auto_recall, "query_index", lambda *_: pytest.fail("there is nothing to consult"))
    with open_test_store(root) as engram:
        assert auto_recall.recall_for_text(engram.store, PROMPT, sentences=[PROMPT]) == ""


# --- tools


def test_an_entry_above_about_a_file_is_named_once_and_again_after_a_resume(root: Path) -> None:
    def edit(number: int) -> str:
        return recalled_text("pre-tool", root, tool_use_id=f"edit {number}")

    assert ABOUT_FILE in recalled_text("session-start", root)
    once = re.compile(rf"<engram-lore>\n\[L\d\] above answers this:\n    {ABOUT_FILE}\n</engram-lore>")
    assert once.search(edit(1))
    assert edit(2) == ""
    recalled_text("session-start", root, source="resume")
    assert once.search(edit(3))
    assert edit(4) == ""


def test_an_entry_shown_at_an_edit_is_not_named_at_the_next_one(root: Path) -> None:
    assert ABOUT_FILE in recalled_text("pre-tool", root)
    assert LESSON in recalled_text("prompt", root)
    assert answer(CLAUDE, "pre-tool", root, tool_use_id="another") is None


def test_a_file_gets_the_entries_that_name_it_and_no_other(root: Path) -> None:
    assert ABOUT_FILE in recalled_text("pre-tool", root)
    other = {"file_path": str(root / "src/other_queue.py")}
    assert answer(CLAUDE, "pre-tool", root, session_id="s2", tool_input=other) is None


def test_an_agent_without_an_event_before_a_tool_gets_what_names_the_file_after_it(root: Path) -> None:
    read = {"tool_name": "read_file", "tool_input": {"file_path": str(root / "src/queue.py")}}
    assert ABOUT_FILE in text_of(
        answer("gemini-cli", "post-tool", root, **read, tool_response={"llmContent": "x"})
    )
    assert answer("vscode", "post-tool", root, **read, tool_response={"text": "x"}, session_id="s2") is None


def test_a_file_is_found_by_its_path_from_the_top_of_the_repository(root: Path) -> None:
    inside = root / "src"
    inside.mkdir()
    found = recalled_text("pre-tool", root, cwd=str(inside), tool_input={"file_path": "queue.py"})
    assert ABOUT_FILE in found


def test_a_command_gets_what_is_strong_about_it(root: Path) -> None:
    ok("record", "Never run terraform apply on staging without the lock table.", "-c", "workflow", cwd=root)
    found = recalled_text(
        "pre-tool", root, tool_name="Bash", tool_input={"command": "terraform apply staging"}
    )
    assert "lock table" in found


def test_an_error_gets_what_is_known_of_it_once_and_then_its_ref(root: Path) -> None:
    assert "[L1] above" not in recalled_text("tool-failure", root)
    again = recalled_text("tool-failure", root, error=ERROR + " again", tool_use_id="t9")
    assert f"<engram-lore>\n[L1] above answers this:\n    {FAILURE}\n</engram-lore>" in again


@pytest.mark.parametrize(("paragraphs", "comes"), [(8, True), (26, False)])
def test_a_few_words_of_an_error_in_a_long_entry_do_not_recall_it(
    paragraphs: int, comes: bool, tmp_path: Path
) -> None:
    rejected = (
        "The bridge answers 'handshake rejected by peer' when its certificate is from the old authority."
    )
    ordinary = "".join(
        f"\n\nThe {place} is changed by hand number {n} once a {span}, and the {plan} of it is kept in the {room}."
        for n, (place, span, plan, room) in zip(range(paragraphs), cycle(_ORDINARY), strict=False)
    )
    with open_test_store(make_store(tmp_path), agent="human", clock=Clock()) as engram:
        engram.record(rejected + ordinary, category="FACT")
        engram.record("The certificate of the harbour was renewed by its new authority.", category="FACT")
        engram.refresh()
    error = "fatal: certificate of the bridge was rejected by a timid customer"
    assert (rejected in recalled_text("tool-failure", tmp_path, error=error)) == comes


def test_an_interrupted_tool_is_no_failure(root: Path) -> None:
    assert answer(CLAUDE, "tool-failure", root, is_interrupt=True) is None


def test_a_tool_that_worked_is_no_failure(root: Path) -> None:
    good = {"output": ERROR, "exit_code": 0, "stderr": ERROR}
    assert answer("codex", "post-tool", root, tool_response=good) is None


# --- the brief


def test_a_subagent_has_a_context_of_its_own(root: Path) -> None:
    assert LESSON in recalled_text("session-start", root)
    assert LESSON in recalled_text("subagent-start", root)
    assert LESSON in recalled_text("subagent-start", root, agent_id="a2")


# --- lore is data


def test_origin_standing_and_author_are_shown(root: Path) -> None:
    found = recalled_text("prompt", root)
    assert f"\n[L1] fact · Engram Test · today\n    {LESSON}" in found
    assert fence.NOTICE in found


# --- asking, and events that come twice


NEXT = "and which colour has the settings page?"


def test_feedback_is_asked_for_once_and_only_about_what_recall_showed(root: Path) -> None:
    recalled_text("session-start", root, session_id="s5")
    assert answer(CLAUDE, "stop", root, session_id="s5") is None
    assert "recall_feedback" not in recalled_text(
        "prompt", root, session_id="s5", prompt=NEXT
    )  # a brief is no recall
    assert LESSON in recalled_text("prompt", root)
    assert answer(CLAUDE, "stop", root) is None  # it would cost a turn
    found = recalled_text("prompt", root, prompt="thanks, that was it")
    assert "recall_feedback" in found
    assert "L1" in found
    assert LESSON in found
    assert answer(CLAUDE, "stop", root, last_assistant_message="Bye.") is None
    assert "recall_feedback" not in recalled_text("prompt", root, prompt=NEXT)
    with open_test_store(root, clock=Clock()) as engram:
        assert [list(one.ids) for one in engram.live() if one.action == "ask"] == [
            [engram.list(limit=None).lore[-1].lore.id]
        ]


def test_an_agent_that_does_not_listen_at_prompts_is_asked_as_it_stops(root: Path) -> None:
    assert FAILURE in text_of(answer("cursor", "post-tool", root))
    assert "recall_feedback" in text_of(answer("cursor", "stop", root))


def test_feedback_is_asked_for_entries_that_the_agent_queried_itself(root: Path) -> None:
    from engram.mcp.present import present_answer as as_found

    with open_test_store(root, session="s1", agent=CLAUDE) as engram:
        as_found(engram, engram.query(PROMPT))
    assert answer(CLAUDE, "stop", root, session_id="s1") is None
    found = recalled_text("prompt", root, session_id="s1", prompt="thanks, that was it")
    assert "recall_feedback" in found
    assert LESSON in found


def test_no_feedback_is_asked_for_judged_entries(root: Path) -> None:
    recalled_text("prompt", root)
    ok("feedback", "--not-relevant", "L1", cwd=root)
    assert answer(CLAUDE, "stop", root) is None
    assert answer(CLAUDE, "prompt", root, prompt="thanks, that was it") is None


def test_an_agent_that_a_stop_hook_continued_may_stop(root: Path) -> None:
    assert answer("cursor", "post-tool", root) is not None
    assert answer("cursor", "stop", root, stop_hook_active=True) is None


def test_asking_can_be_turned_off(root: Path) -> None:
    ok("config", "hooks.ask", "false", "--user", cwd=root)
    recalled_text("prompt", root)
    assert answer(CLAUDE, "stop", root) is None
    assert answer(CLAUDE, "prompt", root, prompt="thanks, that was it") is None


def test_an_event_that_two_configuration_files_fire_is_answered_once(root: Path) -> None:
    assert answer("gemini-cli", "prompt", root) is not None
    assert answer(CLAUDE, "prompt", root) is None
    with open_test_store(root) as engram:
        assert len(engram.store.state.retrievals()) == 1


def test_many_processes_with_one_event_give_one_answer(root: Path) -> None:
    from engram.adapters.state.hook_memory import HookMemory

    memories = [open_test_store(root) for _ in range(4)]
    won = [HookMemory(one.store.state).mark("answered", "s1", "k", 100.0, anew_after=5.0) for one in memories]
    assert won == [True, False, False, False]
    later = HookMemory(memories[0].store.state)
    assert not later.mark("answered", "s1", "k", 104.0, anew_after=5.0)
    assert later.mark("answered", "s1", "k", 106.0, anew_after=5.0)
    assert later.count("answered", 0, "s1") == 1
    later.prune(200.0)
    assert later.marked("answered", "s1") == set()
    for one in memories:
        one.close()


def test_claude_code_is_told_the_session_for_its_commands(root: Path, tmp_path: Path) -> None:
    from hookkit import recorded_payload

    file = tmp_path / "environment"
    payload = recorded_payload(CLAUDE, "session-start", root, session_id="it's")
    call(CLAUDE, "session-start", payload, CLAUDE_ENV_FILE=str(file))
    assert file.read_text() == "export ENGRAM_SESSION='it'\"'\"'s' ENGRAM_AGENT=claude-code\n"


def test_files_that_lore_cannot_name_are_no_trouble(root: Path) -> None:
    with open_test_store(root) as engram:
        assert auto_recall.recall_for_files(engram.store, []) == ""
        assert auto_recall.recall_for_files(engram.store, ["x' OR 1=1 --", "%", "\n"]) == ""


# --- which entries are about a file


@pytest.fixture
def quay(tmp_path: Path) -> Iterator[Engram]:
    with open_test_store(tmp_path, session="s1", agent="human", clock=Clock()) as engram:
        for text, file in (
            ("Cranes are counted twice at the turn of the tide.", "port/crane.py"),
            ("Berths are numbered from the sea.", "berth.py"),
            ("The manual of the yard is printed in spring.", "yard/README.md"),
            ("The manual of the whole port is printed in autumn.", "README.md"),
        ):
            engram.record(text, category="FACT", files=[file])
        engram.record("Ropes are weighed wet.", category="FACT", files=["rope.py"], confidence=0.4)
        engram.refresh()
        yield engram


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("port/crane.py", ["Cranes"]),
        ("src/port/crane.py", ["Cranes"]),  # the entry has the end of the path
        ("crane.py", ["Cranes"]),  # and here the file is the end of the entry's
        ("crane.pyi", []),
        ("src/berth.py", ["Berths"]),
        ("README.md", ["The manual of the whole"]),  # every folder has one
        ("yard/README.md", ["The manual of the yard"]),
        ("big/yard/README.md", ["The manual of the yard"]),
        ("other/README.md", []),
        ("rope.py", []),  # too little is thought of it
    ],
)
def test_an_entry_about_a_file_is_found_by_any_end_of_its_path_that_says_something(
    asked: str, found: list[str], quay: Engram
) -> None:
    text = auto_recall.recall_for_files(quay.store, [asked])
    starts = ("Cranes", "Berths", "The manual of the yard", "The manual of the whole", "Ropes")
    assert [start for start in starts if start in text] == found


@pytest.mark.parametrize(
    ("naming", "comes"),
    [(["crane.py"], True), (["CRANE.py"], True), (["berth.py"], False), (["README.md"], False)],
)
def test_an_answer_is_shown_for_a_file_only_if_it_mentions_a_distinctive_name(
    naming: list[str], comes: bool, quay: Engram
) -> None:
    asked = "cranes are counted twice at the turn of the tide"
    assert ("Cranes" in auto_recall.recall_for_text(quay.store, asked, naming=naming)) == comes


def test_the_activity_log_records_shown_and_withheld_entries_with_reasons(quay: Engram) -> None:
    auto_recall.recall_for_files(quay.store, ["crane.py"])
    auto_recall.recall_for_files(quay.store, ["crane.py"])
    auto_recall.recall_for_text(quay.store, "how are the cranes of the yard painted in spring")
    lines = [one for one in quay.live() if one.action == "query"]
    assert [(one.query, len(one.ids)) for one in lines][:2] == [("crane.py", 1), ("crane.py", 0)]
    assert [held.why for held in lines[1].withheld] == [auto_recall.SHOWN_BEFORE]
    assert "not strong" in [held.why for held in lines[2].withheld]
