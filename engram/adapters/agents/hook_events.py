"""The table of the lifecycle hooks of coding agents: their names of events, and the forms of their answers.

Vendors' contracts as of November 2026; docs/agents.md says where each is documented.
"""

from __future__ import annotations

from engram.domain.typed import NamedTuple

SESSION_START, PROMPT, PRE_TOOL, POST_TOOL, TOOL_FAILURE = EVENTS_IN = (
    "session-start", "prompt", "pre-tool", "post-tool", "tool-failure",
)  # fmt: skip
SUBAGENT_START, SUBAGENT_STOP, TASK_COMPLETED, PRE_COMPACT, STOP, SESSION_END = EVENTS_OUT = (
    "subagent-start", "subagent-stop", "task-completed", "pre-compact", "stop", "session-end",
)  # fmt: skip
EVENTS = (*EVENTS_IN, *EVENTS_OUT)

# The forms of an answer: where in the JSON the text goes. An answer at the end of a turn costs another turn, so an agent
# that takes answers at prompts has none there.
NOTHING = "nothing"  # the agent takes no answer here
CONTEXT = "context"  # {"hookSpecificOutput": {"hookEventName", "additionalContext"}}
FLAT_CONTEXT = "flat-context"  # {"additionalContext"}
SNAKE_CONTEXT = "snake-context"  # {"additional_context"}
BLOCK = "block"  # {"decision": "block", "reason"}
INNER_BLOCK = "inner-block"  # {"hookSpecificOutput": {"hookEventName", "decision": "block", "reason"}}
FOLLOW_UP = "follow-up"  # {"followup_message"}


class Hook(NamedTuple):
    """An event of an agent: our name, the agent's name, the form of the answer, its matcher, the time limit in seconds.

    `matcher` is the agent's own pattern, "" for all calls; `detached` says that the agent need not wait; `keeps` that the
    agent's last message is handed in at the end of a turn, because the end of a session does not have it.
    """

    event: str
    native: str
    form: str = NOTHING
    matcher: str = ""
    seconds: int = 5
    detached: bool = False
    keeps: bool = False


_CLAUDE_CODE = (
    Hook(SESSION_START, "SessionStart", CONTEXT, "startup|resume|clear|compact|fork", 10),
    Hook(PROMPT, "UserPromptSubmit", CONTEXT),
    Hook(
        PRE_TOOL,
        "PreToolUse",
        CONTEXT,
        "Bash|Edit|Write|MultiEdit|NotebookEdit|WebFetch|WebSearch|Task|mcp__(?!(?:plugin_engram_)?engram__).*",
    ),
    Hook(POST_TOOL, "PostToolUse", matcher="Bash|Edit|Write|MultiEdit|NotebookEdit", detached=True),
    Hook(TOOL_FAILURE, "PostToolUseFailure", CONTEXT),
    Hook(SUBAGENT_START, "SubagentStart", CONTEXT),
    Hook(SUBAGENT_STOP, "SubagentStop", seconds=10, detached=True),
    Hook(TASK_COMPLETED, "TaskCompleted", seconds=10, detached=True),
    Hook(PRE_COMPACT, "PreCompact", seconds=10),
    Hook(STOP, "Stop", seconds=10),
    Hook(SESSION_END, "SessionEnd"),
)
_CODEX = (
    Hook(SESSION_START, "SessionStart", CONTEXT, "startup|resume|clear|compact", 10),
    Hook(PROMPT, "UserPromptSubmit", CONTEXT),
    Hook(PRE_TOOL, "PreToolUse", CONTEXT, "Bash|apply_patch"),
    Hook(POST_TOOL, "PostToolUse", CONTEXT, "Bash|apply_patch"),
    Hook(SUBAGENT_START, "SubagentStart", CONTEXT),
    Hook(SUBAGENT_STOP, "SubagentStop", seconds=10),
    Hook(PRE_COMPACT, "PreCompact", seconds=10),
    Hook(STOP, "Stop", seconds=10),
    Hook(SESSION_END, "SessionEnd", seconds=3),  # the most it allows
)
_CURSOR = (
    Hook(SESSION_START, "sessionStart", SNAKE_CONTEXT, seconds=10),
    Hook(POST_TOOL, "postToolUse", SNAKE_CONTEXT),
    Hook(SUBAGENT_STOP, "subagentStop", seconds=10),
    Hook(PRE_COMPACT, "preCompact", seconds=10),
    Hook(STOP, "stop", FOLLOW_UP, seconds=10),
    Hook(SESSION_END, "sessionEnd"),
)
_GEMINI = (
    Hook(SESSION_START, "SessionStart", CONTEXT, seconds=10),
    Hook(PROMPT, "BeforeAgent", CONTEXT),
    Hook(POST_TOOL, "AfterTool", CONTEXT),
    Hook(PRE_COMPACT, "PreCompress", seconds=10),
    Hook(STOP, "AfterAgent", seconds=10),
    Hook(SESSION_END, "SessionEnd"),
)
_VSCODE = (
    Hook(SESSION_START, "SessionStart", CONTEXT, seconds=10),
    Hook(PRE_TOOL, "PreToolUse", CONTEXT),
    Hook(POST_TOOL, "PostToolUse", CONTEXT),
    Hook(SUBAGENT_START, "SubagentStart", CONTEXT),
    Hook(SUBAGENT_STOP, "SubagentStop", seconds=10),
    Hook(PRE_COMPACT, "PreCompact", seconds=10),
    Hook(STOP, "Stop", INNER_BLOCK, seconds=10, keeps=True),
)
_COPILOT = (
    Hook(SESSION_START, "sessionStart", FLAT_CONTEXT, seconds=10),
    Hook(POST_TOOL, "postToolUse", FLAT_CONTEXT),
    Hook(SUBAGENT_START, "subagentStart", FLAT_CONTEXT),
    Hook(SUBAGENT_STOP, "subagentStop", seconds=10),
    Hook(PRE_COMPACT, "preCompact", seconds=10),
    Hook(STOP, "agentStop", BLOCK, seconds=10),
    Hook(SESSION_END, "sessionEnd"),
)
_OPENCODE = (  # called by Engram's own plugin, which takes FLAT_CONTEXT everywhere
    Hook(SESSION_START, "experimental.chat.system.transform", FLAT_CONTEXT, seconds=10),
    Hook(PROMPT, "chat.message", FLAT_CONTEXT),
    Hook(POST_TOOL, "tool.execute.after", FLAT_CONTEXT),
    Hook(PRE_COMPACT, "experimental.session.compacting", seconds=10),
    Hook(STOP, "session.idle", seconds=10, keeps=True),
    Hook(SESSION_END, "dispose"),
)
_GOOSE = (  # it takes no answers
    Hook(SESSION_START, "SessionStart", seconds=10),
    Hook(STOP, "Stop", seconds=10, keeps=True),
    Hook(SESSION_END, "SessionEnd"),
)
_WINDSURF = (Hook(STOP, "post_cascade_response", keeps=True),)

HOOKS: dict[str, tuple[Hook, ...]] = {
    "claude-code": _CLAUDE_CODE,
    "codex": _CODEX,
    "cursor": _CURSOR,
    "gemini-cli": _GEMINI,
    "vscode": _VSCODE,
    "copilot-cli": _COPILOT,
    "opencode": _OPENCODE,
    "windsurf": _WINDSURF,
    "goose": _GOOSE,
}


def hook_of(agent: str, event: str) -> Hook | None:
    """Return the agent's hook for one of our events; None if it has none."""
    return next((hook for hook in HOOKS.get(agent, ()) if hook.event == event), None)
