"""The session and the agent that a call belongs to, according to the environment."""

from __future__ import annotations

import os
import sys

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SESSION_VARIABLES = (
    "ENGRAM_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID", "CODEX_THREAD_ID", "CODEX_SESSION_ID",
    "GEMINI_SESSION_ID", "CURSOR_TRACE_ID", "OPENCODE_SESSION_ID", "COPILOT_SESSION_ID", "TERM_SESSION_ID",
    "WT_SESSION",
)  # fmt: skip
_AGENT_VARIABLES = (
    ("CLAUDECODE", "claude-code"),
    ("CLAUDE_CODE_SESSION_ID", "claude-code"),
    ("CODEX_THREAD_ID", "codex"),
    ("CODEX_SANDBOX", "codex"),
    ("GEMINI_CLI", "gemini-cli"),
    ("CURSOR_AGENT", "cursor"),
    ("CURSOR_TRACE_ID", "cursor"),
    ("OPENCODE", "opencode"),
    ("COPILOT_SESSION_ID", "copilot-cli"),
)
_MAX_NAME = 120


def session_name(environment: Mapping[str, str]) -> str:
    """Return the session that refs belong to: a variable's value, else the terminal, else the session of processes."""
    return named_session(environment) or _terminal()


def named_session(environment: Mapping[str, str]) -> str:
    """Return the session named by a variable, "" if none names one."""
    for variable in _SESSION_VARIABLES:
        value = environment.get(variable, "").strip()
        if value:
            return _encodable(value[:_MAX_NAME])
    return ""


def agent_name(environment: Mapping[str, str]) -> str:
    """Return the calling agent (`claude-code`, …), "" if unknown."""
    named = environment.get("ENGRAM_AGENT", "").strip()
    if named:
        return _encodable(named[:_MAX_NAME])
    return next((agent for variable, agent in _AGENT_VARIABLES if environment.get(variable)), "")


def _encodable(name: str) -> str:
    """Replace bytes that are not UTF-8 in a name from the environment."""
    return name.encode("utf-8", "replace").decode()


def _terminal() -> str:
    if sys.platform == "win32":
        return f"process-{os.getppid()}"
    else:  # noqa: RET505 - lets mypy check only one branch on each system
        leader = os.getsid(0)
        for stream in (0, 1, 2):
            try:
                return f"{os.ttyname(stream)}-{leader}"
            except OSError:
                continue
        return f"session-{leader}"
