"""Connecting agents in a project: its own files, a command that works on every machine, and exact removal."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from apikit import cli, ok
from connectkit import CONFIGS, files, make_project, run
from effort import sampled

from engram.adapters.agents.hosts import IN_PROJECTS, NAMES

# Files that a project may already have.
EXISTING = {
    "claude-code": {".mcp.json": "one-line.json", ".claude/settings.json": "claude-settings.json"},
    "cursor": {
        ".cursor/mcp.json": "one-line.json",
        ".cursor/hooks.json": "one-line.json",
        "AGENTS.md": "AGENTS.md",
    },
    "codex": {".codex/config.toml": "codex-config.toml"},
    "gemini-cli": {".gemini/settings.json": "gemini-settings.json"},
    "opencode": {"opencode.json": "zed-settings.jsonc"},
    "vscode": {".vscode/mcp.json": "empty.json", "AGENTS.md": "AGENTS.md"},
    "zed": {".zed/settings.json": "zed-settings.jsonc"},
    "roo": {".roo/mcp.json": "one-line.json"},
}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the places of files differ by system")
EACH_AGENT = sampled("agent", IN_PROJECTS, 3)


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(home, monkeypatch)


def furnish(project: Path, agent: str) -> None:
    for place, sample in EXISTING[agent].items():
        path = project / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((CONFIGS / sample).read_bytes())


def test_every_agent_that_reads_project_files_is_tested() -> None:
    assert EXISTING.keys() == {*IN_PROJECTS}


@EACH_AGENT
@pytest.mark.parametrize("furnished", [True, False], ids=["with-files", "without"])
def test_connecting_a_project_changes_only_its_files_and_disconnecting_restores_them(
    agent: str, furnished: bool, home: Path, project: Path
) -> None:
    if furnished:
        furnish(project, agent)
    before = files(home)
    done = run("connect", agent, "--project", "--allow-tools")
    assert "engram` on the PATH" in done.err
    connected = files(home)
    assert all(name.startswith("project/") for name in connected.keys() - before.keys())
    assert not list(project.rglob("*.bak"))
    written = b"\n".join(raw for name, raw in connected.items() if raw != before.get(name))
    assert b"engram" in written
    assert sys.executable.encode() not in written
    assert str(home).encode() not in written
    assert "nothing to change" in run("connect", agent, "--project", "--allow-tools").out
    run("disconnect", agent, "--project")
    assert files(home) == before


def test_a_foreign_server_named_engram_in_a_project_is_kept(home: Path, project: Path) -> None:
    foreign = '{"mcpServers": {"engram": {"command": "npx", "args": ["other"]}}}\n'
    (project / ".mcp.json").write_text(foreign)
    done = run("connect", "claude-code", "--project")
    servers = json.loads((project / ".mcp.json").read_text())["mcpServers"]
    assert servers["engram"] == {"command": "npx", "args": ["other"]}
    assert (servers["engram-lore"]["command"], servers["engram-lore"]["args"]) == ("engram", ["mcp"])
    assert "engram-lore" in done.err
    run("disconnect", "claude-code", "--project")
    assert (project / ".mcp.json").read_text() == foreign


def test_project_and_user_are_connected_and_disconnected_independently(home: Path, project: Path) -> None:
    furnish(project, "cursor")
    before = files(home)
    run("connect", "cursor")
    by_user = files(home)
    run("connect", "cursor", "--project")
    run("disconnect", "cursor", "--project")
    assert files(home) == by_user
    run("connect", "cursor", "--project")
    run("disconnect", "cursor")
    assert b"engram:begin" in (project / "AGENTS.md").read_bytes()  # the project still needs it
    assert b"engram" in (project / ".cursor/mcp.json").read_bytes()
    run("disconnect", "cursor", "--project")
    assert files(home) == before


def test_another_clone_can_remove_committed_parts(home: Path, project: Path) -> None:
    run("connect", "claude-code", "--project")
    (home / ".local/share/engram/connections.json").unlink()  # this machine did not write it
    run("disconnect", "claude-code", "--project")
    assert not [name for name, raw in files(project).items() if b"engram" in raw]


def test_all_means_all_agents_connected_in_this_project(home: Path, project: Path) -> None:
    run("connect", "roo", "--project", "--no-rules")
    run("connect", "claude-code")
    found = ok("disconnect", "--all", "--project", "--dry-run", "--json").json["agents"]
    assert [one["agent"] for one in found] == ["roo"]


@pytest.mark.parametrize("agent", [name for name in NAMES if name not in IN_PROJECTS])
def test_an_agent_that_reads_no_project_files_is_refused(agent: str, project: Path) -> None:
    done = cli("connect", agent, "--project")
    assert done.code == 2
    assert "claude-code" in done.err


def test_project_is_refused_outside_of_a_repository(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    done = cli("connect", "claude-code", "--project")
    assert done.code == 2
    assert "not in a git repository" in done.err
