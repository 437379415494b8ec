"""The files that connecting writes work: absolute commands, plugins, allowed tools, snippets, moved folders."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from apikit import ok
from connectkit import make_project, run

from engram.adapters.agents.hosts import HOSTS
from engram.hooks.events import QUESTION
from engram.mcp.tools.core import TOOLS
from engram.usecases.agents.brief import RULES

READING = [name for name, tool in TOOLS.items() if tool.annotations.read_only_hint]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the places of files differ by system")


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(home, monkeypatch)


def test_hooks_are_started_by_an_absolute_path_that_works(home: Path, project: Path) -> None:
    run("connect", "claude-code")
    settings = json.loads((home / ".claude/settings.json").read_text())
    commands = [
        hook["command"]
        for groups in settings["hooks"].values()
        for group in groups
        for hook in group["hooks"]
    ]
    assert len(commands) == 11
    assert all(command.startswith(f"{sys.executable} -P -m engram hook ") for command in commands)
    (project / "engram").mkdir()
    (project / "engram/__init__.py").write_text("raise SystemExit(9)")
    start = next(command for command in commands if " session-start " in command)
    done = subprocess.run(
        start, shell=True, cwd=project, input=b'{"session_id":"s","source":"startup"}', capture_output=True, check=False,
        env={**os.environ, "ENGRAM_HOOK_SECONDS": "60"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert "additionalContext" in json.loads(done.stdout)["hookSpecificOutput"]


def test_a_python_path_with_a_space_is_quoted() -> None:
    from engram.adapters.agents.edits import is_our_hook
    from engram.adapters.agents.hook_events import HOOKS
    from engram.adapters.agents.parts import ConnectOptions, hook_command

    command = hook_command(
        ConnectOptions(("/opt/my python/bin/python", "-P", "-m", "engram")), HOOKS["codex"][0], "codex"
    )
    assert command.startswith("'/opt/my python/bin/python' -P")
    assert is_our_hook({"command": command})


def test_the_plugin_folder_is_complete(home: Path, project: Path) -> None:
    folder = project / "plugin"
    run("connect", "claude-code", "--plugin", str(folder))
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == {
        ".claude-plugin/plugin.json", "hooks/hooks.json", "skills/engram/SKILL.md", "commands/remember.md",
        "commands/recall.md", "commands/memory-status.md",
    }  # fmt: skip
    manifest = json.loads((folder / ".claude-plugin/plugin.json").read_text())
    assert manifest["name"] == "engram"
    assert manifest["mcpServers"]["engram"]["args"][-1] == "mcp"
    assert json.loads((folder / "hooks/hooks.json").read_text())["hooks"].keys() >= {"SessionStart", "Stop"}
    assert "nothing to change" in run("connect", "claude-code", "--plugin", str(folder)).out
    assert not (home / ".claude.json").exists()


def test_read_only_tools_are_allowed_on_request(home: Path, project: Path) -> None:
    run("connect", "claude-code")
    assert "permissions" not in json.loads((home / ".claude/settings.json").read_text())
    run("connect", "claude-code", "--allow-tools")
    allowed = json.loads((home / ".claude/settings.json").read_text())["permissions"]["allow"]
    assert allowed == [f"mcp__engram__{name}" for name in READING]
    run("connect", "codex", "--allow-tools")
    codex = tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]["engram"]
    assert codex["tools"] == {name: {"approval_mode": "approve"} for name in READING}
    run("connect", "gemini-cli", "--allow-tools")
    (rule,) = tomllib.loads((home / ".gemini/policies/engram.toml").read_text())["rule"]
    assert (rule["mcpName"], rule["toolName"], rule["decision"]) == ("engram", READING, "allow")
    run("connect", "cline", "--allow-tools")
    (path,) = home.rglob("cline_mcp_settings.json")
    assert json.loads(path.read_text())["mcpServers"]["engram"]["autoApprove"] == READING


def test_texts_for_agents_name_only_existing_tools(home: Path, project: Path) -> None:
    run("connect", "claude-code")
    run("connect", "zed")
    texts = [path.read_text() for path in (home / ".claude").rglob("*.md")]
    for text in (*texts, (project / "AGENTS.md").read_text(), RULES, QUESTION):
        named = re.findall(r"\btools?((?:,? (?:and )?`?[a-z_]+`?)+?)(?= of |,? or |\.|,?\n)", text)
        words = {word for one in named for word in re.findall(r"[a-z_]+", one)} - {"and"}
        assert words, text
        assert words <= TOOLS.keys(), words


def test_snippets_are_printed_for_every_agent_and_a_development_container(project: Path) -> None:
    for host in HOSTS:
        assert "engram" in ok("connect", host.name, "--print").out
    assert (
        json.loads(ok("connect", "--print", "--json").json["snippets"][0]["text"])["mcpServers"]["engram"][
            "args"
        ][-1]
        == "mcp"
    )
    assert "pre_stop" in ok("connect", "devcontainer", "--print").out
    assert ok("connect", "zed", "--print", "--json").json["snippets"][0]["path"].endswith("zed/settings.json")


def test_servers_of_opencode_2_are_one_level_deeper(home: Path, project: Path) -> None:
    path = home / ".config/opencode/opencode.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"mcp": {"servers": {}}}')
    run("connect", "opencode")
    assert json.loads(path.read_text())["mcp"]["servers"]["engram"]["command"][-1] == "mcp"


def test_configuration_folders_set_by_variables_are_used(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    monkeypatch.setenv("CODEX_HOME", str(home / "cdx"))
    run("connect", "claude-code")
    run("connect", "codex")
    assert (home / "elsewhere/.claude.json").exists()
    assert (home / "elsewhere/settings.json").exists()
    assert (home / "cdx/config.toml").exists()
    assert not (home / ".claude.json").exists()


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_opencodes_plugin_calls_the_hooks(home: Path, project: Path) -> None:
    ok("init", cwd=project)
    ok(
        "record",
        "Queue consumers must be idempotent: redelivery happens after a missed ack.",
        "-c",
        "fact",
        cwd=project,
    )
    ok("reindex", cwd=project)
    run("connect", "opencode")
    plugin = home / ".config/opencode/plugins/engram.js"
    script = """
const { Engram } = await import(process.argv[1])
const hooks = await Engram({ directory: process.argv[2] })
const prompt = "why are queue consumers idempotent, does redelivery happen after a missed ack?"
await hooks["chat.message"]({ sessionID: "s1" }, { parts: [{ type: "text", text: prompt }] })
const output = { system: ["first"] }
await hooks["experimental.chat.system.transform"]({ sessionID: "s1" }, output)
console.log(JSON.stringify(output.system))
"""
    shutil.copy(plugin, project / "engram.mjs")
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script, str(project / "engram.mjs"), str(project)],
        capture_output=True, check=False, timeout=60, env={**os.environ, "ENGRAM_HOOK_SECONDS": "4", "ENGRAM_BACKGROUND": "inline"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, added = json.loads(done.stdout)
    assert first == "first"
    assert "Queue consumers must be idempotent" in added
