"""What hooks persist: few candidates, pending, without secrets, within limits, never twice, in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import prepared
import pytest
from apikit import SECRET, SetClock, cli, dedicated, make_plain_store, ok, open_test_store, variables
from gitkit import git
from hookkit import SAID, answer, recorded_payload

from engram.adapters.files.durable.job_queue import JobQueue
from engram.adapters.files.durable.lock import FileLock
from engram.domain.agents.neutralization import FRAME
from engram.hooks import process
from engram.hooks.payload import Payload
from engram.usecases.agents import session_capture
from engram.usecases.agents.session_capture import Report
from engram.usecases.store import captured
from engram.usecases.store.store import Clock

CLAUDE = "claude-code"
SESSIONS = Path(__file__).parents[1] / "data/agents/sessions"
CAUSE = SAID.split("\n", maxsplit=1)[0]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    prepared.copy("a fact about licences", tmp_path, _make_root)
    return tmp_path


def _make_root(folder: Path) -> None:
    make_plain_store(folder)
    ok("record", "The licence server allows 20 seats.", "-c", "fact", cwd=folder)


def persisted(root: Path, session: str = "s1") -> list[dict[str, Any]]:
    """The entries that hooks made, after the detached process did its work here: captured ones, then those with a file."""
    with open_test_store(root, session=session, clock=Clock()) as engram:
        session_capture.process_reports(engram.store)
        engram.refresh()
        filed = [shown.lore for shown in engram.list(limit=None).lore if "captured" in shown.lore.tags]
        return [
            {"content": lore.content, "category": lore.category, "status": lore.status,
             "type": lore.type, "agent": lore.agent, "files": lore.files}
            for lore in [*captured.list_captured(engram.store), *filed]
        ]  # fmt: skip


def write_transcript(
    root: Path, *said: str, prompt: str = "Mend the upload of large files", edited: str = ""
) -> None:
    lines: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": prompt}}]
    for text in said:
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if edited:
            content.append({"type": "tool_use", "name": "Edit", "input": {"file_path": edited}})
        lines.append({"type": "assistant", "message": {"role": "assistant", "content": content}})
    text = "\n".join(json.dumps(line) for line in lines)
    (root / "transcript.jsonl").write_text(f"{text}\nnot json\n", "utf-8")


# --- from an event to an entry


def test_a_subagents_cause_becomes_one_captured_entry(root: Path) -> None:
    assert answer(CLAUDE, "subagent-stop", root) is None
    (found,) = persisted(root)
    assert found["content"] == CAUSE
    assert (found["status"], found["agent"], found["category"]) == ("pending", CLAUDE, "EDGE_CASE_DISCOVERY")


def test_a_session_that_changed_files_leaves_a_summary(root: Path) -> None:
    write_transcript(
        root,
        SAID + " " + "The upload sends its header again now, and the proxy keeps it.",
        edited=str(root / "src/up.py"),
    )
    answer(CLAUDE, "session-end", root)
    summary = next(one for one in persisted(root) if one["category"] == "SESSION_SUMMARY")
    assert (summary["type"], summary["status"], summary["files"]) == ("episodic", "pending", ("src/up.py",))
    assert summary["content"].startswith("Session: Mend the upload of large files")
    answer(CLAUDE, "session-end", root, reason="resume")
    assert [one["category"] for one in persisted(root)].count("SESSION_SUMMARY") == 1


@pytest.mark.parametrize("room", [280, 290])
def test_no_summary_and_no_lesson_holds_half_of_a_secret(root: Path, room: int) -> None:
    """A prompt is cut at 300 characters, after which nothing would recognize what is left of a token."""
    prompt = f"{'mend upload of the large files '.ljust(room, 'x')} {SECRET} is the token"
    write_transcript(
        root, f"{CAUSE} The upload sends its header again.", prompt=prompt, edited=str(root / "src/up.py")
    )
    answer(CLAUDE, "session-end", root)
    assert {one["category"] for one in persisted(root)} == {"EDGE_CASE_DISCOVERY", "SESSION_SUMMARY"}
    kept = [path for path in root.rglob("*") if path.is_file() and path.name != "transcript.jsonl"]
    assert SECRET[:8].encode() not in b"".join(path.read_bytes() for path in kept)


def test_a_session_of_mere_talk_leaves_nothing(root: Path) -> None:
    write_transcript(
        root, "The upload module is in src/up.py; it is called by the command line and by the app alike."
    )
    answer(CLAUDE, "session-end", root)
    assert persisted(root) == []


@pytest.mark.parametrize("agent", ["opencode", "windsurf", "goose"])
def test_an_agent_without_a_session_end_event_is_captured_at_the_end_of_a_turn(
    agent: str, root: Path
) -> None:
    assert answer(agent, "stop", root) is None
    assert [(one["content"], one["agent"]) for one in persisted(root)] == [(CAUSE, agent)]


def test_a_transcript_that_only_the_end_of_a_turn_names_is_read_at_the_end_of_the_session(root: Path) -> None:
    path = root / "events.jsonl"
    shutil.copy(SESSIONS / "copilot-cli.jsonl", path)
    answer("copilot-cli", "stop", root, transcriptPath=str(path))
    assert persisted(root) == []
    answer("copilot-cli", "session-end", root)
    assert {one["category"]: one["content"] for one in persisted(root)}["EDGE_CASE_DISCOVERY"] == CAUSE


def test_a_compression_that_an_agent_announces_repeatedly_is_handled_once(root: Path) -> None:
    clock, compacting = SetClock(), Payload(trigger="auto")
    with open_test_store(root, session="s1", clock=clock) as engram:
        heard = []
        for _ in range(12):
            heard.append(process._claim_event(engram.store, "pre-compact", compacting))
            clock.advance(minutes=1)
    assert heard == [True, *[False] * 10, True]


def test_a_lesson_reported_at_compaction_and_session_end_is_kept_once(root: Path) -> None:
    write_transcript(root, SAID)
    answer(CLAUDE, "pre-compact", root)
    answer(CLAUDE, "session-end", root)
    answer(CLAUDE, "subagent-stop", root)
    assert [one["content"] for one in persisted(root)] == [CAUSE]


def test_a_known_lesson_is_not_recorded_again(root: Path) -> None:
    ok("record", CAUSE, "-c", "fact", cwd=root)
    ok("reindex", cwd=root)
    answer(CLAUDE, "subagent-stop", root)
    assert persisted(root) == []


def test_a_task_with_a_description_leaves_its_result_or_what_was_learned(root: Path) -> None:
    answer(CLAUDE, "task-completed", root)
    assert [one["content"] for one in persisted(root)] == [CAUSE]
    told = "The export writes one file for each tenant now, named after it, and the old single file is gone."
    answer(CLAUDE, "task-completed", root, session_id="s2", task_description=told)
    assert f"Task done: Mend the upload\n\n{told}" in [one["content"] for one in persisted(root)]
    answer(CLAUDE, "task-completed", root, session_id="s3", task_description="", task_subject="Run the tests")
    assert len(persisted(root)) == 2


def test_secrets_never_reach_the_disk(root: Path) -> None:
    text = f"Root cause: the deploy used the token {SECRET} of a person who had left."
    answer(CLAUDE, "subagent-stop", root, last_assistant_message=text)
    assert SECRET.encode() not in b"".join(p.read_bytes() for p in root.rglob("*") if p.is_file())
    (found,) = persisted(root)
    assert "[redacted" in found["content"]
    assert SECRET.encode() not in b"".join(p.read_bytes() for p in root.rglob("*") if p.is_file())


def test_engrams_own_words_are_not_captured(root: Path) -> None:
    text = f"<{FRAME}>\n{CAUSE}\n</{FRAME}>\nNothing else."
    answer(CLAUDE, "subagent-stop", root, last_assistant_message=text)
    assert persisted(root) == []


def test_pending_lore_is_not_recalled(root: Path) -> None:
    answer(CLAUDE, "subagent-stop", root)
    persisted(root)
    assert "Nothing relevant" in ok("query", CAUSE, cwd=root).out


def test_capture_can_be_turned_off(root: Path) -> None:
    ok("config", "hooks.capture", "false", "--user", cwd=root)
    answer(CLAUDE, "subagent-stop", root)
    assert not (root / ".engram/outcomes").exists()


# --- limits


def distinct(number: int) -> str:
    """Sentences without a word in common."""
    words = sha256(str(number).encode()).hexdigest().translate(str.maketrans("0123456789", "ghijklmnop"))
    return "Root cause: " + " ".join(words[at : at + 7] for at in range(0, 63, 7))


def test_captures_are_limited_per_session_and_day(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_capture, "MOST_A_SESSION", 3)
    monkeypatch.setattr(session_capture, "MOST_A_DAY", 5)
    with open_test_store(root) as engram:
        for number in range(5):
            session_capture.submit_report(
                engram.store, Report("subagent-stop", CLAUDE, "one", distinct(number))
            )
        assert session_capture.process_reports(engram.store) == 3
        for number in range(20, 25):
            session_capture.submit_report(
                engram.store, Report("subagent-stop", CLAUDE, f"s{number}", distinct(number))
            )
        assert session_capture.process_reports(engram.store) == 2
        assert session_capture._queue(engram.store).is_empty()


def test_the_number_and_size_of_queued_reports_are_limited(root: Path) -> None:
    clock = SetClock()
    with open_test_store(root, clock=clock) as engram:
        kept = [
            session_capture.submit_report(
                engram.store, Report("subagent-stop", CLAUDE, "one", "x" * 1_000_000)
            )
            for _ in range(session_capture.MOST_WAITING + 3)
        ]
    assert kept == [True] * session_capture.MOST_WAITING + [False] * 3
    lines = (root / ".engram/outcomes/waiting.jsonl").read_bytes().splitlines()
    assert max(map(len, lines)) < session_capture.MOST_CHARACTERS + 1000


def test_an_invalid_report_is_deleted(root: Path) -> None:
    queue = JobQueue(str(root / ".engram/outcomes"))
    queue.put("1", {"unknown": 1})
    queue.put("2", {"event": 3, "agent": None, "session": [], "said": {}})
    (root / ".engram/outcomes/3.json").write_bytes(b"\xff{")
    with open_test_store(root) as engram:
        assert session_capture.process_reports(engram.store) == 0
    assert queue.is_empty()


def test_reports_that_an_earlier_version_left_as_files_are_still_recorded(root: Path) -> None:
    folder = root / ".engram/outcomes"
    folder.mkdir()
    for number in range(2):
        report = Report("subagent-stop", CLAUDE, f"s{number}", distinct(number))
        (folder / f"{number}.json").write_text(json.dumps(report._asdict()))
    with open_test_store(root) as engram:
        assert session_capture.process_reports(engram.store) == 2
        assert session_capture._queue(engram.store).is_empty()


def test_reports_are_left_to_a_process_that_holds_the_lock(root: Path) -> None:
    answer(CLAUDE, "subagent-stop", root)
    with open_test_store(root) as engram:
        with FileLock(str(root / ".engram/outcomes/lock")):
            assert session_capture.process_reports(engram.store) == 0
        assert session_capture.process_reports(engram.store) == 1


# --- the detached process


def test_the_detached_process_records_commits_and_pushes_all_but_what_nobody_confirmed(
    tmp_path: Path,
) -> None:
    root = dedicated(tmp_path / "store")
    hub = tmp_path / "hub.git"
    git(tmp_path, "init", "-q", "--bare", str(hub))
    ok("remote", "add", "origin", str(hub), cwd=root)
    ok("sync", cwd=root)
    payload = recorded_payload(CLAUDE, "session-end", root)
    with open_test_store(root) as engram:
        session_capture.submit_report(engram.store, Report("subagent-stop", CLAUDE, "s1", SAID))
        result = "The export writes one file for each tenant now, named after it; the old file is gone."
        task = Report("task-completed", CLAUDE, "s1", result, "Split the export")
        session_capture.submit_report(engram.store, task)
    assert payload["reason"] == "prompt_input_exit"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "engram.hooks.hook_process", str(root), "sync"],
        env=variables(ENGRAM_SYNC_SECONDS="30"), capture_output=True, check=False, timeout=120, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "rev-parse", "HEAD") == git(hub, "rev-parse", "HEAD")
    sent = git(hub, "log", "--format=%B%n", "-p", "HEAD")
    assert "Split the export" in sent
    assert "Root cause" not in sent
    with open_test_store(root) as engram:
        assert [lore.content for lore in captured.list_captured(engram.store)] == [CAUSE]


@pytest.mark.slow
def test_without_a_remote_the_detached_process_ends_well(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    command = [sys.executable, "-P", "-m", "engram.hooks.hook_process", str(root), "sync"]
    done = subprocess.run(command, env=variables(), capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert cli("status", "--json", cwd=root).code == 0
