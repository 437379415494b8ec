"""Every agent and event: the recorded payload is answered in exactly the schema that the agent documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hookkit import ABOUT_FILE, CALLS, FAILURE, LESSON, answer, call, make_store, recorded_payload, text_of

from engram.adapters.agents.hook_events import EVENTS, HOOKS


def context(native: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": native, "additionalContext": str}}


BLOCK = {"decision": "block", "reason": str}

# What each agent takes as an answer that says something: these keys and no others. Where there is none, none may come.
DOCUMENTED: dict[tuple[str, str], dict[str, Any]] = {
    ("claude-code", "session-start"): context("SessionStart"),
    ("claude-code", "prompt"): context("UserPromptSubmit"),
    ("claude-code", "pre-tool"): context("PreToolUse"),
    ("claude-code", "tool-failure"): context("PostToolUseFailure"),
    ("claude-code", "subagent-start"): context("SubagentStart"),
    ("codex", "session-start"): context("SessionStart"),
    ("codex", "prompt"): context("UserPromptSubmit"),
    ("codex", "pre-tool"): context("PreToolUse"),
    ("codex", "post-tool"): context("PostToolUse"),
    ("codex", "subagent-start"): context("SubagentStart"),
    ("cursor", "session-start"): {"additional_context": str},
    ("cursor", "post-tool"): {"additional_context": str},
    ("cursor", "stop"): {"followup_message": str},
    ("gemini-cli", "session-start"): context("SessionStart"),
    ("gemini-cli", "prompt"): context("BeforeAgent"),
    ("gemini-cli", "post-tool"): context("AfterTool"),
    ("vscode", "session-start"): context("SessionStart"),
    ("vscode", "pre-tool"): context("PreToolUse"),
    ("vscode", "post-tool"): context("PostToolUse"),
    ("vscode", "subagent-start"): context("SubagentStart"),
    ("vscode", "stop"): {"hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": str}},
    ("copilot-cli", "session-start"): {"additionalContext": str},
    ("copilot-cli", "post-tool"): {"additionalContext": str},
    ("copilot-cli", "subagent-start"): {"additionalContext": str},
    ("copilot-cli", "stop"): BLOCK,
    ("opencode", "session-start"): {"additionalContext": str},
    ("opencode", "prompt"): {"additionalContext": str},
    ("opencode", "post-tool"): {"additionalContext": str},
}
# Every event that the vendors document and Engram does not use, with the reason.
QUIET = "it takes no text for the model, and nothing lasting is told there"
ELSEWHERE = "another event of the same agent tells it"
BLOCKS = "its answer could only block, and recall never does"
UNUSED: dict[str, dict[str, str]] = {
    "claude-code": {
        **dict.fromkeys(
            ("PostToolBatch", "Notification", "StopFailure", "PostCompact", "PreModelSwitch", "PostModelSwitch", "Setup",
             "TeammateIdle", "TaskCreated", "ElicitationResult", "ConfigChange", "WorktreeCreate", "WorktreeRemove",
             "InstructionsLoaded", "CwdChanged", "FileChanged", "DirectoryAdded", "MessageDisplay"), QUIET),
        "UserPromptExpansion": ELSEWHERE,
        **dict.fromkeys(("PermissionRequest", "PermissionDenied", "Elicitation"), BLOCKS),
    },
    "codex": {"PermissionRequest": BLOCKS, **dict.fromkeys(("PostCompact", "StopFailure", "Interrupt"), QUIET)},
    "cursor": {
        "beforeSubmitPrompt": BLOCKS,
        **dict.fromkeys(("preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile"), BLOCKS),
        **dict.fromkeys(("afterShellExecution", "afterMCPExecution", "afterFileEdit"), ELSEWHERE),
        **dict.fromkeys(("postToolUseFailure", "subagentStart", "afterAgentResponse", "afterAgentThought"), QUIET),
    },
    "gemini-cli": {
        **dict.fromkeys(("BeforeTool", "BeforeModel", "AfterModel", "BeforeToolSelection"), BLOCKS), "Notification": QUIET,
    },
    "vscode": {"UserPromptSubmit": QUIET},
    "copilot-cli": {
        **dict.fromkeys(("preToolUse", "permissionRequest"), BLOCKS),
        **dict.fromkeys(("userPromptSubmitted", "errorOccurred", "notification", "userPromptTransformed"), QUIET),
        "postToolUseFailure": "it takes an answer with exit code 2 alone, and a hook of Engram always exits 0",
    },
    "opencode": {
        **dict.fromkeys(
            ("chat.params", "command.execute.before", "tool.execute.before", "shell.env", "permission.ask"), QUIET),
        "experimental.chat.messages.transform": ELSEWHERE,
    },
    "windsurf": dict.fromkeys(
        ("pre_user_prompt", "pre_read_code", "post_read_code", "pre_write_code", "post_write_code", "pre_run_command",
         "post_run_command", "pre_mcp_tool_use", "post_mcp_tool_use"), "it takes no text for the model"),
    "goose": {
        "PreToolUse": BLOCKS,
        **dict.fromkeys(
            ("UserPromptSubmit", "PreToolUseResult", "PostToolUse", "PostToolUseFailure", "BeforeReadFile", "AfterFileEdit",
             "BeforeShellExecution", "AfterShellExecution"), QUIET),
    },
}  # fmt: skip
COUNTED = {  # how many events each vendor documents
    "claude-code": 33, "codex": 13, "cursor": 18, "gemini-cli": 11, "vscode": 8, "copilot-cli": 14, "opencode": 12,
    "windsurf": 10, "goose": 12,
}  # fmt: skip
SAYS = {
    "session-start": LESSON,
    "prompt": LESSON,
    "pre-tool": ABOUT_FILE,
    "tool-failure": FAILURE,
    "post-tool": FAILURE,
    "subagent-start": LESSON,
    "stop": "engram feedback",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # Goose names its folder in some events only, and starts hooks in it
    return make_store(tmp_path)


def fits(found: Any, documented: Any) -> bool:
    if isinstance(documented, dict):
        return (
            isinstance(found, dict)
            and found.keys() == documented.keys()
            and all(fits(found[key], documented[key]) for key in documented)
        )
    return isinstance(found, str) and bool(found) if documented is str else found == documented


def test_a_key_too_many_or_too_few_does_not_fit() -> None:
    good = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "x"}}
    assert fits(good, context("SessionStart"))
    assert not fits({**good, "more": 1}, context("SessionStart"))
    assert not fits(good, context("PreToolUse"))
    assert not fits({"decision": "block"}, BLOCK)


def test_every_event_that_is_installed_has_a_recorded_payload_and_no_other() -> None:
    assert sorted(CALLS) == sorted((agent, hook.event) for agent, hooks in HOOKS.items() for hook in hooks)
    assert {event for _, event in CALLS} == set(EVENTS)


@pytest.mark.parametrize("agent", HOOKS)
def test_every_event_that_an_agent_documents_is_used_or_left_out_for_a_reason(agent: str) -> None:
    used = {hook.native for hook in HOOKS[agent]}
    assert not used & UNUSED[agent].keys()
    assert len(used) + len(UNUSED[agent]) == COUNTED[agent]
    assert UNUSED.keys() == HOOKS.keys()


@pytest.mark.parametrize(("agent", "event"), CALLS, ids=["-".join(call) for call in CALLS])
def test_the_answer_is_what_the_agent_documents(agent: str, event: str, root: Path) -> None:
    if event == "stop":  # it asks about what recall showed before
        shown_by = "prompt" if (agent, "prompt") in DOCUMENTED else "post-tool"
        if (agent, shown_by) in DOCUMENTED:
            assert answer(agent, shown_by, root) is not None
    found = answer(agent, event, root)
    documented = DOCUMENTED.get((agent, event))
    assert fits(found, documented) if documented else found is None, found
    if documented:
        assert SAYS[event] in text_of(found)


@pytest.mark.parametrize(("agent", "event"), CALLS, ids=["-".join(call) for call in CALLS])
def test_with_json_there_is_always_one_document(
    agent: str, event: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(agent, event, recorded_payload(agent, event, tmp_path), "--json")
    assert (done.code, done.err) == (0, "")
    assert isinstance(json.loads(done.out), dict)


def test_vs_code_that_runs_the_hooks_of_claude_code_gets_its_own_schema(root: Path) -> None:
    assert answer("vscode", "pre-tool", root) is not None
    done = call("claude-code", "stop", recorded_payload("vscode", "stop", root))
    assert fits(json.loads(done.out), DOCUMENTED["vscode", "stop"])
