"""A user's own MCP server named `engram` is neither overwritten nor deleted: Engram's server gets another name."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from apikit import cli, ok
from connectkit import files, formats_first, furnish, make_project, run
from effort import sampled

from engram.adapters.agents.edits import Entry, TomlTable, YamlEntry, apply_edit, siblings
from engram.adapters.agents.hosts import HOSTS
from engram.adapters.agents.parts import READ_ONLY_TOOLS, ConnectOptions, server_part
from engram.adapters.agents.servers import is_ours
from engram.adapters.files import places
from engram.usecases.store.own_command import own_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the places of files differ by system")

AGENTS = {host.name: host for host in HOSTS if host.server is not None}
EACH_AGENT = sampled("agent", formats_first(AGENTS), 3)
OWN = {"command": "/opt/mine/engram", "args": ["mcp", "--db", "own.db"]}
NOTE = "has an MCP server named engram that `engram connect` did not write. It is left alone."


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(home, monkeypatch)


def config(agent: str) -> Path:
    part = server_part(AGENTS[agent], ConnectOptions(own_command()))
    assert part is not None
    return Path(part.path)


def servers(agent: str) -> dict[str, Any]:
    """Read the agent's MCP servers, by name, from its file."""
    part = server_part(AGENTS[agent], ConnectOptions(own_command()))
    assert part is not None
    return dict(siblings(config(agent).read_text("utf-8"), part.edit))


def add_server(agent: str, name: str, value: dict[str, Any]) -> None:
    """Add a server to the agent's file, as a user would."""
    part = server_part(AGENTS[agent], ConnectOptions(own_command(), server=name))
    assert part is not None
    edit = part.edit
    if isinstance(edit, Entry):
        edit = edit._replace(value=value)
    else:
        assert isinstance(edit, (TomlTable, YamlEntry))
        edit = edit._replace(values=value)
    path = config(agent)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(apply_edit(path.read_text("utf-8") if path.exists() else "", edit), "utf-8")


def test_all_agents_with_an_mcp_server_are_tested() -> None:
    wanted = "claude-code claude-desktop cursor windsurf codex gemini-cli opencode vscode copilot-cli zed goose cline roo"
    assert AGENTS.keys() == {*wanted.split()}


@EACH_AGENT
def test_a_foreign_server_named_engram_survives_connecting_twice_and_disconnecting(
    agent: str, home: Path, project: Path
) -> None:
    furnish(home, agent)
    add_server(agent, "engram", OWN)
    before, others = files(home), servers(agent)
    done = run("connect", agent, "--allow-tools", "--no-input")
    assert f"{config(agent)} {NOTE} Engram's server is named engram-lore." in done.err
    now = servers(agent)
    assert now.pop("engram-lore")
    assert now == others
    connected = files(home)
    second = run("connect", agent, "--allow-tools")
    assert "nothing to change" in second.out
    assert files(home) == connected
    (listed,) = [one for one in ok("agents", "--json").json["agents"] if one["agent"] == agent]
    assert (listed["connected"], listed["server"]) == (True, "engram-lore")
    run("disconnect", agent)
    assert files(home) == before
    (listed,) = [one for one in ok("agents", "--json").json["agents"] if one["agent"] == agent]
    assert not listed["parts"]["MCP server"]


@EACH_AGENT
@pytest.mark.parametrize("recorded", [True, False], ids=["record", "no-record"])
def test_disconnecting_removes_only_its_entry_from_a_file_edited_since(
    agent: str, recorded: bool, home: Path, project: Path
) -> None:
    furnish(home, agent)
    add_server(agent, "engram", OWN)
    run("connect", agent)
    add_server(agent, "added-later", {"command": "later"})
    if not recorded:
        Path(places.connections_file()).unlink()
    expected = servers(agent)
    assert expected.pop("engram-lore")
    run("disconnect", agent)
    assert servers(agent) == expected
    assert expected["engram"] == OWN


@EACH_AGENT
def test_disconnecting_without_connecting_keeps_a_foreign_server(
    agent: str, home: Path, project: Path
) -> None:
    add_server(agent, "engram", OWN)
    before = files(home)
    done = run("disconnect", agent)
    assert NOTE in done.err
    assert files(home) == before


@EACH_AGENT
def test_a_foreign_server_that_replaced_engrams_is_kept(agent: str, home: Path, project: Path) -> None:
    run("connect", agent)
    assert "engram" in servers(agent)
    config(agent).unlink()
    add_server(agent, "engram", OWN)
    run("disconnect", agent)
    assert servers(agent) == {"engram": OWN}
    run("connect", agent)
    assert servers(agent).keys() == {"engram", "engram-lore"}


@pytest.mark.parametrize("agent", ["codex", "gemini-cli", "goose"])
def test_further_names_are_taken_in_turn(agent: str, home: Path, project: Path) -> None:
    for name in ("engram", "engram-lore", "engram-lore-2"):
        add_server(agent, name, OWN)
    run("connect", agent)
    assert list(servers(agent)) == ["engram", "engram-lore", "engram-lore-2", "engram-lore-3"]
    run("disconnect", agent)
    assert list(servers(agent)) == ["engram", "engram-lore", "engram-lore-2"]


def test_the_name_stays_when_the_foreign_server_is_gone(home: Path, project: Path) -> None:
    add_server("cursor", "engram", OWN)
    run("connect", "cursor")
    found = json.loads(config("cursor").read_text())
    del found["mcpServers"]["engram"]
    config("cursor").write_text(json.dumps(found))
    done = run("connect", "cursor")
    assert "nothing to change" in done.out
    assert NOTE not in done.err
    assert servers("cursor").keys() == {"engram-lore"}
    assert "(server engram-lore)" in ok("agents").out


@EACH_AGENT
def test_an_entry_of_another_version_or_edited_by_hand_is_updated_in_place(
    agent: str, home: Path, project: Path
) -> None:
    run("connect", agent)
    written = servers(agent)["engram"]
    Path(places.connections_file()).unlink()
    old = json.loads(json.dumps(written).replace(sys.executable, "/old/python"))
    key = "args" if "args" in old else "command"
    add_server(agent, "engram", {**old, key: [*old[key], "--tools", "all"]})
    run("connect", agent)
    assert servers(agent) == {"engram": written}
    run("disconnect", agent)
    assert not config(agent).exists() or "engram" not in servers(agent)


def test_a_recorded_entry_that_now_runs_something_else_is_still_removed(home: Path, project: Path) -> None:
    run("connect", "codex")
    wrapped = {**servers("codex")["engram"], "command": "/usr/local/bin/wrapper", "args": ["engram"]}
    add_server("codex", "engram", wrapped)
    run("disconnect", "codex")
    assert not config("codex").exists() or servers("codex") == {}


def test_permissions_and_texts_use_the_chosen_name(home: Path, project: Path) -> None:
    add_server("claude-code", "engram", OWN)
    run("connect", "claude-code", "--allow-tools")
    allowed = json.loads((home / ".claude/settings.json").read_text())["permissions"]["allow"]
    assert allowed == [f"mcp__engram-lore__{tool}" for tool in READ_ONLY_TOOLS]
    assert "The MCP server `engram-lore`" in (home / ".claude/skills/engram/SKILL.md").read_text()
    for name in ("remember", "recall"):
        assert "of the MCP server engram-lore" in (home / f".claude/commands/{name}.md").read_text()
    add_server("gemini-cli", "engram", OWN)
    run("connect", "gemini-cli", "--allow-tools")
    (rule,) = tomllib.loads((home / ".gemini/policies/engram.toml").read_text())["rule"]
    assert rule["mcpName"] == "engram-lore"
    add_server("goose", "engram", OWN)
    run("connect", "goose")
    assert servers("goose")["engram-lore"]["name"] == "engram-lore"
    add_server("codex", "engram", OWN)
    run("connect", "codex", "--allow-tools")
    assert servers("codex")["engram-lore"]["tools"].keys() == {*READ_ONLY_TOOLS}
    assert "tools" not in servers("codex")["engram"]


def test_preview_print_and_json_show_the_chosen_name(home: Path, project: Path) -> None:
    add_server("codex", "engram", OWN)
    before = files(home)
    done = ok("connect", "codex", "--dry-run")
    assert NOTE in done.err
    assert "\n+[mcp_servers.engram-lore]\n" in done.out
    assert "[mcp_servers.engram-lore]" in ok("connect", "codex", "--print").out
    assert cli("connect", "codex", "--no-input").code == 2
    assert files(home) == before
    (agent,) = ok("connect", "codex", "--yes", "--json").json["agents"]
    assert agent["server"] == "engram-lore"
    assert NOTE in agent["notes"][0]


@pytest.mark.parametrize(
    ("server", "ours"),
    [
        ({"command": "/x/python", "args": ["-P", "-m", "engram", "mcp"]}, True),
        ({"command": "/x/python", "args": ["-m", "engram", "mcp"], "env": {"ENGRAM_AGENT": "codex"}}, True),
        ({"command": ["/x/python", "-P", "-m", "engram", "mcp", "--tools", "all"]}, True),
        ({"cmd": "/x/python", "args": ["-P", "-m", "engram", "mcp"], "envs": {}}, True),
        ({"command": "engram", "args": ["mcp"], "env": {"ENGRAM_AGENT": "codex"}}, True),
        ({"command": "engram", "args": ["mcp"]}, False),
        ({"command": "python", "args": ["-m", "engram", "mcp"]}, False),
        ({"command": "python", "args": ["-P", "-m", "engram.server", "mcp"]}, False),
        ({"command": "npx", "env": {"ENGRAM_AGENT": "codex"}}, False),
        ({"url": "http://127.0.0.1:8848/mcp"}, False),
        (None, False),
        ([], False),
    ],
)
def test_only_entries_that_connect_writes_are_recognized_as_engrams(server: object, ours: bool) -> None:
    assert is_ours(server) is ours
