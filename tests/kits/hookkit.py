"""Hooks as an agent calls them: a store, recorded payloads, and calls with their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import prepared
from apikit import Result, cli, open_test_store

from engram.usecases.agents import session_capture
from engram.usecases.store import captured
from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORDED = json.loads((Path(__file__).parents[1] / "data/agents/payloads.json").read_text("utf-8"))
CALLS = [(agent, event) for agent, events in RECORDED.items() for event in events]

CLAUDE = "claude-code"

LESSON = "Queue consumers must be idempotent: redelivery happens after a missed ack."
PROMPT = "why are queue consumers idempotent, does redelivery happen after a missed ack?"
ABOUT_FILE = "The visibility timeout of the work list is ninety seconds, set by hand."
FAILURE = "make fails with 'undefined symbol: tls_get_addr' until the sysroot is mounted."
ERROR = "ld: error: undefined symbol: tls_get_addr"
SAID = "Root cause: the upload client retries without the multipart header, so the proxy drops the body.\n\nDone."
UNRELATED = "The palette of the settings page was chosen for contrast, not for beauty."

# A session in which a test fails and is fixed.
COMMAND = "uv run pytest tests/test_upload.py -q"
TEST_ERROR = (
    "Exit code 1\n____ test_upload ____\n\n"
    "E   botocore.exceptions.ClientError: InvalidRequest: CRC32C checksum is not accepted\n1 failed in 0.41s"
)
ASKED = "the upload test says ClientError InvalidRequest, CRC32C checksum is not accepted"
CAUSE = "Root cause: boto3 1.36 sends CRC32 checksums by default, which MinIO before 2025 does not accept."


def make_store(root: Path) -> Path:
    """Make an indexed plain store with an entry for each kind of recall."""
    prepared.copy("an entry for each kind of recall", root, _make_store)
    return root


def _make_store(root: Path) -> None:
    with open_test_store(root, agent="human", clock=Clock()) as engram:
        engram.record(LESSON, category="FACT")
        engram.record(ABOUT_FILE, category="FACT", files=["src/queue.py"])
        engram.record(FAILURE, category="FAILURE")
        engram.record(UNRELATED, category="DECISION")
        engram.refresh()


def recorded_payload(agent: str, event: str, root: Path, **changed: Any) -> dict[str, Any]:
    """Return the recorded payload of an agent's event, for a session in `root`."""
    text = json.dumps(RECORDED[agent][event])
    transcript = root / "transcript.jsonl"
    for mark, value in {
        "@CWD@": str(root), "@PROMPT@": PROMPT, "@ERROR@": ERROR, "@SAID@": SAID, "@TRANSCRIPT@": str(transcript),
    }.items():  # fmt: skip
        text = text.replace(mark, json.dumps(value)[1:-1])
    return {**json.loads(text), **changed}


def call(agent: str, event: str, payload: Mapping[str, Any] | bytes, *more: str, **variables: str) -> Result:
    """Call a hook, without hiding its errors."""
    stdin = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    calm = {"ENGRAM_HOOK_SECONDS": "60", "ENGRAM_TRACEBACK": "1", **variables}
    return cli("hook", event, "--agent", agent, *more, stdin=stdin, **calm)


def answer(agent: str, event: str, root: Path, **changed: Any) -> Any:
    """Return the answer to a recorded event, if any."""
    done = call(agent, event, recorded_payload(agent, event, root, **changed))
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out) if done.out else None


def text_of(found: Any) -> str:
    """Return all texts in an answer, joined."""
    if isinstance(found, dict):
        return "\n".join(text_of(value) for value in found.values())
    return found if isinstance(found, str) else ""


def call_after_failure(root: Path, command: str = COMMAND, error: str = TEST_ERROR, **more: Any) -> Any:
    """Call the hook of a failed command."""
    return answer(
        "claude-code",
        "tool-failure",
        root,
        tool_input={"command": command},
        error=error,
        tool_use_id=command,
        **more,
    )


def call_after_success(root: Path, command: str = COMMAND, **more: Any) -> Any:
    """Call the hook of a command that passed."""
    response = {"stdout": "3 passed", "stderr": "warning: slow", "interrupted": False}
    return answer(
        "claude-code",
        "post-tool",
        root,
        tool_input={"command": command},
        tool_response=response,
        tool_use_id=f"p-{command}",
        **more,
    )


def call_after_edit(root: Path, file: str, **more: Any) -> Any:
    """Call the hook of an edited file."""
    return answer("claude-code", "post-tool", root, tool_name="Edit", tool_input={"file_path": str(root / file)},
                  tool_response={"filePath": str(root / file)}, tool_use_id=file, **more)  # fmt: skip


def captured_entries(root: Path) -> list[Any]:
    """Return the captured entries."""
    with open_test_store(root, clock=Clock()) as engram:
        return captured.list_captured(engram.store)


def process_queue(root: Path, session: str = "s1") -> None:
    """Do the work of the detached process in this one."""
    with open_test_store(root, session=session, clock=Clock()) as engram:
        session_capture.process_reports(engram.store)


def recalled_text(event: str, root: Path, **changed: Any) -> str:
    """Return the text that Claude Code gets at a recorded event."""
    return text_of(answer(CLAUDE, event, root, **changed))
