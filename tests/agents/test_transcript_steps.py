"""What happened in a session, in order: commands with their ends, files changed, what was asked and what the agent said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engram.adapters.agents import transcript_steps
from engram.domain.agents.fixes import ASKED, CHANGED, FAILED, PASSED, SAID, Step


def steps(folder: Path, *lines: dict[str, Any]) -> list[Step]:
    path = folder / "t.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return transcript_steps.read(str(path))


def message(role: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": list(blocks)}, **more}


def ran(call: str, command: str, tool: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": tool, "input": {"command": command}}


def ended(call: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def test_commands_changes_and_words_of_both_come_in_order(tmp_path: Path) -> None:
    edit = {"type": "tool_use", "id": "e", "name": "Edit", "input": {"file_path": "/w/a.py"}}
    found = steps(
        tmp_path,
        message("user", {"type": "text", "text": "Caveat: what follows is the program's."}, isMeta=True),
        message("user", {"type": "text", "text": "<command-name>/clear</command-name>"}),
        message("user", {"type": "text", "text": "Mend it."}),
        message("assistant", {"type": "text", "text": "I look."}, ran("1", "make"), ran("2", "make test")),
        message("user", ended("2", [{"type": "text", "text": "boom"}], is_error=True), ended("1", "ok")),
        message("assistant", edit, ran("3", "make test")),
        message("user", ended("3", "Exit code 2\nboom again"), ended("3", "twice")),
    )
    assert found == [
        Step(ASKED, "Mend it."),
        Step(SAID, "I look."),
        Step(FAILED, "make test", "boom"),
        Step(PASSED, "make"),
        Step(CHANGED, "/w/a.py"),
        Step(FAILED, "make test", "Exit code 2\nboom again"),
    ]


def test_what_is_not_understood_and_what_a_subagent_did_is_passed_over(tmp_path: Path) -> None:
    found = steps(
        tmp_path,
        message("assistant", {"type": "text", "text": "Aside."}, isSidechain=True),
        message("assistant", ran("1", "ls", "Grep"), "no block", {"type": "image"}),
        message("user", ended("1", "x"), ended("unknown", "x")),
        {"message": "text"},
        message("assistant", ran("2", "true")),
        message("user", ended("2", "Exit code: 0\nfine")),
        {"message": {"role": "assistant", "content": "Done."}},
    )
    assert found == [Step(PASSED, "true"), Step(SAID, "Done.")]
    assert transcript_steps.read(str(tmp_path / "none")) == []
