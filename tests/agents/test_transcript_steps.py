"""The steps of a session in order: commands with their results, changed files, prompts and answers."""

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


def tool_use(call: str, command: str, tool: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": tool, "input": {"command": command}}


def tool_result(call: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def test_commands_changes_prompts_and_answers_are_in_order(tmp_path: Path) -> None:
    edit = {"type": "tool_use", "id": "e", "name": "Edit", "input": {"file_path": "/w/a.py"}}
    found = steps(
        tmp_path,
        message("user", {"type": "text", "text": "Caveat: what follows is the program's."}, isMeta=True),
        message("user", {"type": "text", "text": "<command-name>/clear</command-name>"}),
        message("user", {"type": "text", "text": "Mend it."}),
        message(
            "assistant",
            {"type": "text", "text": "I look."},
            tool_use("1", "make"),
            tool_use("2", "make test"),
        ),
        message(
            "user",
            tool_result("2", [{"type": "text", "text": "boom"}], is_error=True),
            tool_result("1", "ok"),
        ),
        message("assistant", edit, tool_use("3", "make test")),
        message("user", tool_result("3", "Exit code 2\nboom again"), tool_result("3", "twice")),
    )
    assert found == [
        Step(ASKED, "Mend it."),
        Step(SAID, "I look."),
        Step(FAILED, "make test", "boom"),
        Step(PASSED, "make"),
        Step(CHANGED, "/w/a.py"),
        Step(FAILED, "make test", "Exit code 2\nboom again"),
    ]


def test_unknown_rows_and_those_of_subagents_are_skipped(tmp_path: Path) -> None:
    found = steps(
        tmp_path,
        message("assistant", {"type": "text", "text": "Aside."}, isSidechain=True),
        message("assistant", tool_use("1", "ls", "Grep"), "no block", {"type": "image"}),
        message("user", tool_result("1", "x"), tool_result("unknown", "x")),
        {"message": "text"},
        message("assistant", tool_use("2", "true")),
        message("user", tool_result("2", "Exit code: 0\nfine")),
        {"message": {"role": "assistant", "content": "Done."}},
    )
    assert found == [Step(PASSED, "true"), Step(SAID, "Done.")]
    assert transcript_steps.read(str(tmp_path / "none")) == []
