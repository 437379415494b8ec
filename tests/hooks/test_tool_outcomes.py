"""What is kept of tools, and what is not, since most of what they do is worth nothing later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apikit import SECRET, SetClock, dedicated, make_plain_store, ok, open_test_store
from gitkit import git
from hookkit import (
    CAUSE,
    COMMAND,
    TEST_ERROR,
    answer,
    call_after_edit,
    call_after_failure,
    call_after_success,
    captured_entries,
    make_store,
    process_queue,
    text_of,
)

from engram.usecases.agents import tool_outcomes
from engram.usecases.store import captured
from engram.usecases.store.store import Clock

CLAUDE = "claude-code"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path / "store")


# --- what is not kept of tools


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("ls missing", "ls: cannot access 'missing': No such file or directory"),
        ("grep -r nothing .", "Exit code 1"),
        ("make build", "Exit code 2\nmake: *** [Makefile:3: build] Error 2"),
        ("pytest -q", "Exit code 1\n3 failed in 0.2s"),
    ],
)
def test_a_failure_without_a_message_is_not_kept(root: Path, command: str, error: str) -> None:
    call_after_failure(root, command, error)
    assert captured_entries(root) == []


def test_neither_a_failed_edit_nor_an_interrupted_tool_is_kept(root: Path) -> None:
    answer(CLAUDE, "tool-failure", root, tool_name="Edit", error="String to replace not found in file.",
           tool_input={"file_path": "a.py"})  # fmt: skip
    call_after_failure(root, is_interrupt=True)
    assert captured_entries(root) == []


def test_tools_that_do_their_work_leave_nothing(root: Path) -> None:
    for number in range(20):
        call_after_success(root, f"git log -{number}")
        call_after_edit(root, f"src/{number}.py")
    assert captured_entries(root) == []


def test_a_command_that_fails_again_and_again_is_kept_once(root: Path) -> None:
    for number in range(5):
        call_after_failure(root, error=TEST_ERROR.replace("CRC32C", f"CRC{number}"), session_id="s1")
    call_after_failure(root, error=TEST_ERROR.replace("CRC32C", "CRC0"), session_id="s2")
    assert len(captured_entries(root)) == 1


def test_at_most_four_failures_are_kept_per_session_and_thirty_in_all(root: Path) -> None:
    for session in range(10):
        with open_test_store(root, session=f"s{session}", clock=Clock()) as engram:
            for number in range(5):
                error = f"error: the linker of part {session}{number} cannot find symbol {session}{number}"
                tool_outcomes.note_failure(
                    engram.store, tool_outcomes.Use("Bash", f"ninja-{number} all"), error
                )
    found = captured_entries(root)
    assert len(found) == tool_outcomes.MOST == 30
    assert tool_outcomes.MOST_A_SESSION == 4
    assert not [lore for lore in found if "part 04" in lore.content or "part 00" in lore.content]
    assert [lore for lore in found if "part 93" in lore.content]


def test_an_unresolved_failure_is_not_shown_when_it_happens_again(root: Path) -> None:
    call_after_failure(root)
    assert not text_of(call_after_failure(root))  # who made it
    assert not text_of(call_after_failure(root, session_id="two"))


@pytest.mark.parametrize(
    ("asked", "comes"),
    [
        ("the upload test says ClientError InvalidRequest, CRC32C checksum is not accepted", True),
        ("the checksum of uploads, is it in the tests?", False),
    ],
)
def test_an_unresolved_failure_is_shown_for_a_question_about_that_very_failure(
    root: Path, asked: str, comes: bool
) -> None:
    call_after_failure(root)
    assert (
        "CRC32C checksum is not accepted"
        in text_of(answer(CLAUDE, "prompt", root, session_id="two", prompt=asked))
    ) == comes


def test_tool_outcomes_are_private_and_expire_without_review(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    hub = tmp_path / "hub.git"
    git(tmp_path, "init", "-q", "--bare", str(hub))
    ok("remote", "add", "origin", str(hub), cwd=root)
    ok("record", "Tide tables are printed in local time.", "-c", "fact", cwd=root)
    call_after_failure(root, error=f"error: token {SECRET} is denied by the registry")
    (lore,) = captured_entries(root)
    assert SECRET not in lore.content
    assert "[redacted" in lore.content
    ok("sync", "--yes", cwd=root)
    sent = git(hub, "log", "--all", "-p")
    assert "Tide tables" in sent
    assert "denied by the registry" not in sent
    with open_test_store(root, clock=Clock()) as engram:
        assert not engram.review().items
        assert len(engram.list().lore) == 1
    clock = SetClock(Clock().now())
    clock.advance(days=captured.DAYS + 1)
    with open_test_store(root, clock=clock) as engram:
        assert captured.list_captured(engram.store) == []


def test_with_capture_off_nothing_is_kept_of_tools(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    ok("config", "hooks.capture", "false", "--user", cwd=root)
    call_after_failure(root)
    call_after_success(root)
    assert captured_entries(root) == []


def test_the_lesson_of_a_fix_takes_the_place_of_its_outcome(root: Path) -> None:
    call_after_failure(root)
    call_after_edit(root, "src/storage.py")
    call_after_success(root)
    rows = [
        {"type": "assistant", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": COMMAND}}]}},
        {"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": TEST_ERROR}]}},
        {"type": "assistant", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "e1", "name": "Edit", "input": {"file_path": str(root / "src/storage.py")}}]}},
        {"type": "assistant", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": COMMAND}}]}},
        {"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t2", "is_error": False, "content": "3 passed"}]}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": CAUSE}]}},
    ]  # fmt: skip
    (root / "transcript.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    answer(CLAUDE, "session-end", root)
    process_queue(root)
    (lore,) = captured_entries(root)
    assert not captured.is_outcome(lore)
    assert "MinIO before 2025" in lore.content


@pytest.mark.parametrize("agent", ["cursor", "gemini-cli", "vscode", "copilot-cli"])
def test_failures_reported_by_the_event_after_a_tool_are_kept_too(root: Path, agent: str) -> None:
    answer(agent, "post-tool", root)
    (lore,) = captured_entries(root)
    assert lore.content.startswith("Seen: `make` failing with: ")
    assert lore.content.endswith("ld: error: undefined symbol: tls_get_addr")
    assert lore.agent == agent


def test_a_fix_is_kept_for_an_agent_that_reports_everything_after_a_tool(root: Path) -> None:
    answer("opencode", "post-tool", root)
    edit = {"tool_name": "edit", "tool_input": {"filePath": str(root / "src/storage.py")}}
    answer(
        "opencode",
        "post-tool",
        root,
        **edit,
        tool_use_id="t3",
        tool_response={"output": "ok", "metadata": {}},
    )
    worked = {"output": "built", "metadata": {"exit_code": 0}}
    answer("opencode", "post-tool", root, tool_use_id="t4", tool_response=worked)
    (lore,) = captured_entries(root)
    assert lore.content.endswith("It passed after changes to `src/storage.py`.")
