"""The plan of a lifecycle memory: its hook table event by event, its whole lifecycle, its API, sync model and test plan.

Where Engram differs on purpose, the test says `Differs:` and why; docs/designs.md has the same in tables. What the plan says
of crates, a daemon and migration steps of its own code is not ours: hooks and commands share the files, without a daemon.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from apikit import PROJECT, cli, dedicated, deviates, ok, open_test_store, variables
from effort import sampled
from hookkit import (
    ABOUT_FILE,
    ASKED,
    CAUSE,
    COMMAND,
    LESSON,
    PROMPT,
    TEST_ERROR,
    answer,
    call,
    call_after_edit,
    call_after_failure,
    call_after_success,
    captured_entries,
    make_store,
    process_queue,
    text_of,
)

from engram.domain.entry.categories import Categories
from engram.domain.entry.lore import PENDING
from engram.domain.errors import ConflictError, NotFoundError, StoreError, ValidationError
from engram.domain.recall import ranking
from engram.domain.recall.ranking import Standing
from engram.usecases.store import captured
from engram.usecases.store.store import Clock

CLAUDE = "claude-code"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path / "store")


def transcript(root: Path, *said: str) -> None:
    """Write a transcript in the format of Claude Code in which a file was changed."""
    use = {"type": "tool_use", "id": "e1", "name": "Edit", "input": {"file_path": str(root / "src/queue.py")}}
    rows = [{"type": "user", "message": {"role": "user", "content": "mend the upload test"}},
            {"type": "assistant", "message": {"role": "assistant", "content": [use]}}]  # fmt: skip
    rows += [
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}
        for text in said
    ]
    (root / "transcript.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


# --- the hook table, event by event


def test_session_start_gives_an_up_to_date_brief_at_once(root: Path) -> None:
    """Differs: the sync runs in the background, since a network must not hold up a session."""
    (root / "lore/by-hand.md").write_text(
        "---\ncategory: FACT\npinned: true\n---\n\nDeploys are frozen in December.\n", "utf-8"
    )
    said = text_of(answer(CLAUDE, "session-start", root))
    assert "Deploys are frozen in December." in said
    assert deviates("C", "`MemorySync` before anything")


def test_the_same_prompt_and_memory_give_the_same_answer_also_with_a_cold_cache(root: Path) -> None:
    first = text_of(answer(CLAUDE, "prompt", root, session_id="one"))
    ok("reindex", cwd=root)
    again = text_of(answer(CLAUDE, "prompt", root, session_id="two"))
    assert LESSON in first
    assert first == again


def test_before_a_tool_constraints_are_shown_with_their_reason_and_nothing_is_blocked(root: Path) -> None:
    """Differs: memory advises; what may run is decided by the agent's own permissions, since lore can be wrong or planted."""
    found = answer(CLAUDE, "pre-tool", root)
    assert ABOUT_FILE in text_of(found)
    assert "permissionDecision" not in json.dumps(found)
    assert deviates("C", "`PreToolUse` may block")


def test_a_failed_command_is_captured_and_recalled_for_its_error_in_a_later_session(root: Path) -> None:
    call_after_failure(root)
    (lore,) = captured_entries(root)
    assert lore.content == (
        "Seen: `pytest tests/test_upload.py` failing with: botocore.exceptions.ClientError: InvalidRequest: CRC32C checksum is"
        " not accepted"
    )
    assert (lore.category, lore.status, lore.tags) == (
        "FAILURE",
        PENDING,
        (captured.ORIGIN, captured.OUTCOME),
    )
    later = text_of(answer(CLAUDE, "prompt", root, session_id="two", prompt=ASKED))
    assert "captured today, not confirmed" in later
    assert lore.content in later


def test_after_a_tool_its_outcome_and_changed_files_are_captured(root: Path) -> None:
    call_after_failure(root)
    assert call_after_edit(root, "src/storage.py") is None
    assert call_after_success(root) is None
    (lore,) = captured_entries(root)
    assert lore.category == Categories().parse("tool_observation") == "OBSERVATION"
    assert lore.content.endswith("It passed after changes to `src/storage.py`.")
    assert lore.files == ("src/storage.py",)
    again = text_of(call_after_failure(root, session_id="two"))
    assert "It passed after changes to `src/storage.py`." in again
    assert deviates("C", "every tool outcome is kept")


def test_a_file_that_a_tool_changed_is_in_the_next_answer(root: Path) -> None:
    """The plan's notice of a changed file: the index follows the files by itself."""
    text_of(answer(CLAUDE, "prompt", root, session_id="one"))
    (root / "lore/new.md").write_text(
        "---\ncategory: FACT\n---\n\nThe wharf crane is rented from Halvorsen.\n", "utf-8"
    )
    call_after_edit(root, "lore/new.md")
    said = text_of(
        answer(CLAUDE, "prompt", root, session_id="two", prompt="from whom is the wharf crane rented?")
    )
    assert "Halvorsen" in said


def test_findings_of_a_subagent_are_captured(root: Path) -> None:
    """Differs: its lessons and decisions are; its report is not, which its caller has, and which says what was done."""
    answer(
        CLAUDE,
        "subagent-stop",
        root,
        last_assistant_message=f"Decision: uploads go through MinIO's own client.\n\n{CAUSE}",
    )
    answer(
        CLAUDE,
        "subagent-stop",
        root,
        last_assistant_message="I read twelve files. Nothing else was found there.",
    )
    process_queue(root)
    assert {lore.category for lore in captured_entries(root)} == {
        "ARCHITECTURAL_DECISION",
        "EDGE_CASE_DISCOVERY",
    }
    assert deviates("C", "subagents' outcomes")


def test_the_result_of_a_task_is_captured(root: Path) -> None:
    """Differs: it waits for a person; one with a lesson in it is that lesson, at once recalled."""
    told = "The exporter was split into a reader and a writer, and both have tests of their own now. Nothing is left open."
    answer(CLAUDE, "task-completed", root, task_subject="Split the exporter", task_description=told)
    process_queue(root)
    with open_test_store(root) as engram:
        (result,) = [one.lore for one in engram.list(status="pending").lore]
    assert result.category == "TASK_RESULT"
    assert result.content.startswith("Task done: Split the exporter")


def test_lessons_are_captured_before_a_compaction(root: Path) -> None:
    """Differs: the summary is written when the session ends, for the transcript outlives its compactions; lessons are now."""
    transcript(root, f"{CAUSE}\n\nI go on with the tests.")
    answer(CLAUDE, "pre-compact", root)
    process_queue(root)
    assert [
        CAUSE.removeprefix("Root cause: ") in lore.content or CAUSE in lore.content
        for lore in captured_entries(root)
    ] == [True]
    assert LESSON in text_of(answer(CLAUDE, "session-start", root, source="compact"))
    assert deviates("C", "`PreCompact` keeps a summary")


def test_a_session_with_changes_leaves_a_durable_summary(root: Path) -> None:
    """Differs: a session that changed nothing leaves none. The hook queues it on disk before it answers."""
    transcript(
        root,
        "The upload test passes again; the client now sends the header that the proxy wants, as it should.",
    )
    answer(CLAUDE, "session-end", root)
    process_queue(root)  # any later process
    with open_test_store(root) as engram:
        (summary,) = [one.lore for one in engram.list(status="pending").lore]
    assert summary.category == "SESSION_SUMMARY"
    assert "mend the upload test" in summary.content
    assert summary.files == ("src/queue.py",)
    transcript_only = "What does this repository do?"
    (root / "transcript.jsonl").write_text(
        json.dumps({"type": "user", "message": {"role": "user", "content": transcript_only}}) + "\n", "utf-8"
    )
    answer(CLAUDE, "session-end", root, session_id="chat")
    process_queue(root, "chat")
    with open_test_store(root) as engram:
        assert len(engram.list(status="pending").lore) == 1
    assert deviates("C", "each session leaves a summary")


# --- end to end


LIFECYCLE = (
    ("session-start", {}),
    ("prompt", {}),
    ("pre-tool", {}),
    ("tool-failure", {"tool_input": {"command": COMMAND}, "error": TEST_ERROR}),
    ("post-tool", {"tool_name": "Edit", "tool_input": {"file_path": "@ROOT@/src/storage.py"}}),
    ("post-tool", {"tool_input": {"command": COMMAND}, "tool_use_id": "t9"}),
    ("subagent-start", {}),
    (
        "subagent-stop",
        {"last_assistant_message": "Remember: the staging bucket is emptied every Sunday night."},
    ),
    ("pre-compact", {}),
    ("session-start", {"source": "compact"}),
    ("stop", {}),
    ("session-end", {}),
)


def lifecycle(root: Path, ask: Any) -> None:
    """The plan's sequence (start, prompt, tool, subagent, compact, end), then the next session's prompts."""
    transcript(
        root,
        "I look at the test.",
        f"{CAUSE}\n\nThe upload test passes again, and nothing else was touched by it.",
    )
    for event, changed in LIFECYCLE:
        ask(event, **json.loads(json.dumps(changed).replace("@ROOT@", str(root))))
    process_queue(root)
    said = {}
    for name, question in {
        "told before": PROMPT,
        "tool": ASKED,
        "subagent": "when is the staging bucket emptied?",
        "cause": "why does MinIO not accept the checksums that boto3 sends?",
    }.items():
        said[name] = text_of(ask("prompt", session_id=f"next {name}", prompt=question))
    assert LESSON in said["told before"]
    assert "It passed after changes to `src/storage.py`." in said["tool"]
    assert "the staging bucket is emptied every Sunday night" in said["subagent"]
    assert "MinIO before 2025" in said["cause"]


def test_a_whole_lifecycle_leaves_entries_for_the_next_prompt(root: Path) -> None:
    lifecycle(root, lambda event, **changed: answer(CLAUDE, event, root, **changed))


@pytest.mark.slow
def test_the_lifecycle_works_with_real_hook_processes(root: Path) -> None:
    from hookkit import recorded_payload

    def ask(event: str, **changed: Any) -> Any:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "engram", "hook", event, "--agent", CLAUDE], capture_output=True, check=False,
            input=json.dumps(recorded_payload(CLAUDE, event, root, **changed)).encode(), timeout=120, cwd=root,
            env=variables(ENGRAM_HOOK_SECONDS="60", ENGRAM_BACKGROUND="inline"),
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout) if done.stdout else None

    lifecycle(root, ask)


@pytest.mark.slow
def test_concurrent_hooks_lose_nothing(root: Path) -> None:
    """Several agents report failures at the same time, each in its own process."""
    started = []
    for number in range(6):
        payload = {"session_id": f"s{number}", "cwd": str(root), "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
                   "tool_input": {"command": f"ninja part{number}"}, "tool_use_id": "t",
                   "error": f"error: undefined symbol part_{number}_init"}  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "engram", "hook", "tool-failure", "--agent", CLAUDE], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=variables(ENGRAM_HOOK_SECONDS="60", ENGRAM_BACKGROUND="inline"), cwd=root,
        )  # fmt: skip
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        started.append(process)
    for process in started:
        process.stdout.read()
        process.stdout.close()
        assert process.wait(120) == 0
    assert {lore.content[-6:-5] for lore in captured_entries(root)} == set("012345")


# --- the API


@pytest.mark.parametrize(
    ("kind", "category"),
    [
        ("decision", "ARCHITECTURAL_DECISION"), ("tool_observation", "OBSERVATION"), ("failure", "FAILURE"),
        ("session_summary", "SESSION_SUMMARY"), ("task_result", "TASK_RESULT"), ("context_note", "CONTEXT_NOTE"),
    ],
)  # fmt: skip
def test_every_kind_of_the_plan_is_a_category(tmp_path: Path, kind: str, category: str) -> None:
    with open_test_store(tmp_path / "store") as engram:
        assert engram.record("The proxy drops bodies over 1 MiB.", category=kind).lore.category == category


def test_the_api_has_put_get_list_search_patch_and_delete(tmp_path: Path) -> None:
    """Differs: there is no daemon to send requests to; Python, CLI, MCP and HTTP have the same calls. Ids are ULIDs."""
    with open_test_store(tmp_path / "store") as engram:
        put = engram.record(
            "The proxy drops bodies over 1 MiB.", category="failure", tags=["proxy"], files=["proxy.toml"]
        )
        other = engram.record(
            "Uploads are resumed by their part number.", category="decision", tags=["upload"]
        )
        assert engram.get(put.lore.id).lore == put.lore
        assert [one.lore.id for one in engram.list(limit=1).lore] == [other.lore.id]
        assert [one.lore.id for one in engram.list(categories=["failure"]).lore] == [put.lore.id]
        assert [one.lore.id for one in engram.list(tags=["upload"]).lore] == [other.lore.id]
        assert engram.query("how large a body does the proxy take").lore[0].lore.id == put.lore.id
        changed = engram.patch(put.lore.id, {"tags": ["proxy", "limits"]})
        assert changed.lore.tags == ("proxy", "limits")
        assert changed.lore.content == put.lore.content
        engram.forget(put.lore.id)
        with pytest.raises(NotFoundError):
            engram.get(put.lore.id)
    assert deviates("C", "`id`: UUID")
    assert deviates("C", "`project_hash`")


def test_errors_are_explicit(tmp_path: Path) -> None:
    """Invalid payload, not found, sync conflict, storage unavailable: each a type of its own with a hint."""
    with open_test_store(tmp_path / "store") as engram:
        with pytest.raises(ValidationError):
            engram.record("", category="failure")
        with pytest.raises(NotFoundError):
            engram.get("01KJPY44E039MMV97SZGY6V9EQ")
        lore = engram.record("The proxy drops bodies over 1 MiB.", category="failure").lore
        with pytest.raises(ConflictError):
            engram.patch(lore.id, {"tags": ["a"]}, digest="0" * 64)
    assert issubclass(StoreError, Exception)
    assert StoreError("The disk is full.", "Make room.").hint


def test_a_restart_and_a_rebuilt_index_give_the_same_memory(root: Path) -> None:
    def seen() -> Any:
        with open_test_store(root, clock=Clock()) as engram:
            listed = [(one.lore.id, one.lore.content) for one in engram.list().lore]
            return listed, [hit.lore.id for hit in engram.query(PROMPT).lore]

    before = seen()
    assert seen() == before
    ok("reindex", cwd=root)
    assert seen() == before
    assert deviates("C", "a daemon, IPC")


def test_acknowledged_entries_are_in_files_and_forgotten_ones_stay_deleted(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    with open_test_store(root, clock=Clock()) as engram:
        lore = engram.record("The proxy drops bodies over 1 MiB.", category="failure")
        assert "drops bodies" in (root / lore.path).read_text("utf-8")
        engram.forget(lore.lore.id)
    with open_test_store(root, clock=Clock()) as engram:
        assert not engram.list().lore
        assert not engram.query("which bodies does the proxy drop").lore
    assert not (root / lore.path).exists()
    assert deviates("C", "`deleted` (tombstone)")


# --- ranking


def standing(**changed: Any) -> float:
    base = Standing(700, "semantic", 0, None, 0.0, None, False)
    return ranking.weigh(base._replace(**changed), 5 * 86_400.0)


def test_newer_entries_and_weightier_kinds_rank_higher() -> None:
    assert standing(updated_at=4 * 86_400.0) > standing()
    assert standing() > standing(type="episodic") > standing(type="working")


def test_an_entry_about_the_file_at_hand_comes_first(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as engram:
        engram.record("Timeouts of the upload client are in seconds.", category="fact", files=["src/a.py"])
        mine = engram.record(
            "Timeouts of the upload worker are in seconds.", category="fact", files=["src/b.py"]
        ).lore
        found = engram.query("are timeouts of uploads in seconds", files=["src/b.py"]).lore
        assert found[0].lore.id == mine.id


def test_entries_shown_to_a_model_name_their_source(root: Path) -> None:
    """Differs: by a short ref of the session, which every command takes and `engram show` resolves to the id."""
    said = text_of(answer(CLAUDE, "prompt", root))
    assert "[L1]" in said
    assert LESSON in cli("show", "L1", cwd=root).out
    assert deviates("C", "context names memory ids")


# --- performance


@pytest.mark.slow
def test_writes_and_reads_stay_quick_with_ten_thousand_entries(tmp_path: Path) -> None:
    """The 99th percentile, in processor time, which other work on the machine does not change. benchmarks/ has the figures."""
    root = tmp_path / "store"
    made = subprocess.run(
        [sys.executable, str(PROJECT / "benchmarks/generate.py"), str(root), "--count", "10000"], capture_output=True,
        check=False, env=variables(), timeout=300,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    spent: dict[str, list[float]] = {"read": [], "write": []}
    with open_test_store(root, clock=Clock()) as engram:
        engram.query("warm up the index")
        for number in range(100):
            began = time.process_time()
            engram.query(f"which cache of node {number} was cold")
            spent["read"].append(time.process_time() - began)
            began = time.process_time()
            engram.record(f"Node {number} has {number * 7} MB of cache.", category="fact")
            spent["write"].append(time.process_time() - began)
    for kind, times in spent.items():
        assert sorted(times)[98] < 0.3, kind
    assert deviates("C", "p99 of writes")


# --- hardening


def test_there_are_metrics_of_reads_writes_and_syncs(root: Path) -> None:
    answer(CLAUDE, "prompt", root)
    with open_test_store(root, clock=Clock()) as engram:
        names = {metric.name for metric in engram.metrics()}
    assert {"engram.recorded.total", "engram.recalled.total", "engram.recall.latency_ms", "engram.captured.total",
            "engram.sync.errors.total", "engram.queue.pending"} <= names  # fmt: skip


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"session_id": 7, "cwd": ["x"], "tool_input": "none"}',
        b"x" * (5 << 20),
    ],
    ids=["empty", "half", "list", "bytes", "types", "5 MiB"],
)
@sampled("event", ["post-tool", "tool-failure", "session-end"])
def test_any_payload_is_handled(root: Path, event: str, payload: bytes) -> None:
    done = call(CLAUDE, event, payload, "--store", str(root))
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_damaged_file_is_named_and_the_others_are_read(root: Path) -> None:
    (root / "lore/broken.md").write_text("---\ncategory: [\n---\n\nx\n", "utf-8")
    assert "broken.md" in cli("doctor", cwd=root).out
    assert LESSON in text_of(answer(CLAUDE, "prompt", root))


def test_older_experience_files_are_imported(root: Path) -> None:
    (root / "experience.jsonl").write_text(
        json.dumps(
            {
                "task": "Mend the exporter",
                "outcome": "It writes atomically now",
                "lesson": "Rename after fsync.",
            }
        )
        + "\n"
    )
    assert cli("import", str(root / "experience.jsonl"), "--yes", cwd=root).code == 0
    with open_test_store(root) as engram:
        assert "Rename after fsync." in engram.query("what to do after fsync").lore[0].lore.content
