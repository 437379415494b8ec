"""Configuration files of agents in a temporary home folder, and the command line run there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apikit import Result, ok
from gitkit import git

if TYPE_CHECKING:
    import pytest

CONFIGS = Path(__file__).parents[1] / "data/agents/configs"

# The place of a real file of each agent in the home folder.
PLACES = {
    "claude-code": {".claude.json": "claude.json", ".claude/settings.json": "claude-settings.json"},
    "claude-desktop": {".config/Claude/claude_desktop_config.json": "one-line.json"},
    "cursor": {".cursor/mcp.json": "one-line.json", ".cursor/hooks.json": "one-line.json", "project/AGENTS.md": "AGENTS.md"},
    "windsurf": {".codeium/windsurf/mcp_config.json": "claude.json", ".codeium/windsurf/memories/global_rules.md": "AGENTS.md"},
    "codex": {".codex/config.toml": "codex-config.toml", ".codex/hooks.json": "claude-settings.json"},
    "gemini-cli": {".gemini/settings.json": "gemini-settings.json"},
    "opencode": {".config/opencode/opencode.jsonc": "zed-settings.jsonc"},
    "vscode": {".config/Code/User/mcp.json": "empty.json", "project/AGENTS.md": "AGENTS.md"},
    "copilot-cli": {".copilot/mcp-config.json": "claude.json"},
    "zed": {".config/zed/settings.json": "zed-settings.jsonc", "project/AGENTS.md": "AGENTS.md"},
    "goose": {".config/goose/config.yaml": "goose-config.yaml"},
    "cline": {".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json": "one-line.json"},
    "roo": {".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json": "empty.json"},
    "openclaw": {},
}  # fmt: skip


def formats_first(agents: Iterable[str]) -> list[str]:
    """Order agents so that the first three cover all formats of settings: JSON, TOML, YAML."""
    return sorted(agents, key=lambda agent: agent not in ("claude-code", "codex", "goose"))


def make_project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository in the home folder as the working folder."""
    folder = home / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    monkeypatch.chdir(folder)
    return folder


def furnish(home: Path, agent: str, change: Any = None) -> None:
    """Copy real configuration files of an agent into the home folder."""
    for place, sample in PLACES[agent].items():
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = (CONFIGS / sample).read_bytes()
        path.write_bytes(change(raw) if change else raw)


def files(home: Path) -> dict[str, bytes]:
    """Return all files of the home folder except backups, git's and Engram's own."""
    found = {}
    for path in home.rglob("*"):
        name = path.relative_to(home).as_posix()
        if (
            path.is_file()
            and ".git/" not in name
            and not name.startswith(".local/")
            and not name.endswith(".bak")
        ):
            found[name] = path.read_bytes()
    return found


def run(*arguments: str) -> Result:
    return ok(*arguments, "--yes")
