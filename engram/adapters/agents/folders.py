"""The folders of coding agents on this machine: the names in braces in the table of agents."""

from __future__ import annotations

import os
import sys

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def resolve(place: str, project: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the absolute path of a place in the table; "" for a place in a project if there is none.

    `project` is the top of the repository around the caller, or "".
    """
    if "{project}" in place and not project:
        return ""
    variables = os.environ if environment is None else environment
    path = place.format_map(_folders(variables, project))
    return os.path.normpath(os.path.expanduser(path))


def _folders(variables: Mapping[str, str], project: str) -> dict[str, str]:
    roaming = variables.get("APPDATA") or "~/AppData/Roaming"
    config = variables.get("XDG_CONFIG_HOME") or "~/.config"
    support = {"darwin": "~/Library/Application Support", "win32": roaming}.get(sys.platform, config)
    windows = sys.platform == "win32"
    claude = variables.get("CLAUDE_CONFIG_DIR")
    goose = variables.get("GOOSE_PATH_ROOT")
    goose_config = f"{roaming}/Block/goose/config" if windows else f"{config}/goose"
    return {
        "project": project,
        "config": config,
        "support": support,
        "claude": claude or "~/.claude",
        "claude_json": f"{claude or '~'}/.claude.json",
        "codex": variables.get("CODEX_HOME") or "~/.codex",
        "copilot": variables.get("COPILOT_HOME") or "~/.copilot",
        "zed": f"{roaming}/Zed" if windows else f"{config}/zed",
        "goose": f"{goose}/config" if goose else goose_config,
        "agents": f"{goose or '~'}/.agents",
    }
