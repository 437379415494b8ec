"""Connecting agents: previewed, merged, backed up, the second time nothing, and taken back exactly."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from apikit import SECRET, Result, cli, ok
from gitkit import git
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.adapters.agents.hosts import HOSTS, NAMES
from engram.adapters.files import places
from engram.domain.errors import ConflictError
from engram.usecases import connect
from engram.usecases.clock import Clock

CONFIGS = Path(__file__).parent / "agents/configs"

# Where a real file of each agent lies in the home folder.
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

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the places of files differ by system")


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in the home folder, in which the command is called."""
    folder = home / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    monkeypatch.chdir(folder)
    return folder


def furnish(home: Path, agent: str, change: Any = None) -> None:
    """Real configuration files of an agent."""
    for place, sample in PLACES[agent].items():
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = (CONFIGS / sample).read_bytes()
        path.write_bytes(change(raw) if change else raw)


def files(home: Path) -> dict[str, bytes]:
    """All files of the home folder but backups, git's and Engram's own."""
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


def test_every_agent_has_a_place_in_these_tests() -> None:
    assert PLACES.keys() == {*NAMES}
    wanted = "claude-code claude-desktop cursor windsurf codex gemini-cli opencode vscode copilot-cli zed goose cline roo"
    assert {*wanted.split()} <= {*NAMES}


@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.parametrize("furnished", [True, False], ids=["with-files", "without"])
def test_connect_twice_and_disconnect_gives_every_file_back(
    agent: str, furnished: bool, home: Path, project: Path
) -> None:
    if furnished:
        furnish(home, agent)
    before = files(home)
    run("connect", agent, "--allow-tools")
    connected = files(home)
    assert connected != before
    assert all(name in connected for name in before)
    second = run("connect", agent, "--allow-tools")
    assert "nothing to change" in second.out
    assert files(home) == connected
    listed = {one["agent"]: one for one in ok("agents", "--json").json["agents"]}
    assert listed[agent]["connected"]
    run("disconnect", agent)
    assert files(home) == before
    assert not list(home.rglob("*.engram-tmp"))


@pytest.mark.parametrize("agent", NAMES)
def test_what_a_user_changed_meanwhile_stays_and_only_ours_goes(
    agent: str, home: Path, project: Path
) -> None:
    furnish(home, agent)
    before = files(home)
    run("connect", agent)
    mark = {".md": "\n- mine\n", ".toml": "\n[mine]\na = 1\n", ".yaml": "mine: 1\n"}
    for name in before:
        path = home / name
        with path.open("a") as file:
            file.write(mark.get(path.suffix, "\n"))
    run("disconnect", agent)
    after = files(home)
    expected = {name: raw + mark.get(Path(name).suffix, "\n").encode() for name, raw in before.items()}
    assert {name: after[name] for name in before} == expected


@given(data=st.data())
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_files_are_merged_and_given_back_or_left_alone(data: st.DataObject, home: Path) -> None:
    """Bytes taken out, doubled or put in: nothing of the user's ever changes."""
    agent = data.draw(st.sampled_from(["claude-code", "codex", "gemini-cli", "zed", "goose"]))

    def mutated(raw: bytes) -> bytes:
        at = data.draw(st.integers(0, len(raw)))
        cut = data.draw(st.sampled_from([0, 0, 1, 2]))
        return (
            raw[:at]
            + data.draw(
                st.sampled_from([b"", b"\n", b" ", b",", b"}", b"// x\n", b"# y\n", b'"', b"\r\n", b"\xff"])
            )
            + raw[at + cut :]
        )

    for path in home.glob(".*"):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name == ".claude.json":
            path.unlink()
    furnish(home, agent, mutated)
    before = files(home)
    host = connect.agent_named(agent)
    wanted = connect.Wish(sys.executable)
    plan = connect.plan(host, wanted)
    connect.apply(plan, Clock(), connected=True)
    now = files(home)
    for refused in plan.refused:
        name = os.path.relpath(refused.path, home)
        assert now[name] == before[name]
    assert not connect.plan(host, wanted).wanted
    connect.apply(connect.unplan(host, wanted), Clock(), connected=False)
    assert files(home) == before


# --- preview, questions, refusals


def test_a_dry_run_shows_a_diff_and_changes_nothing(home: Path, project: Path) -> None:
    furnish(home, "codex")
    before = files(home)
    done = ok("connect", "codex", "--dry-run")
    assert f"--- {home}/.codex/config.toml\n+++ {home}/.codex/config.toml\n@@" in done.out
    assert "\n+[mcp_servers.engram]\n" in done.out
    assert "nothing was" in done.out
    assert files(home) == before
    assert not Path(places.connections_file()).exists()


def test_nobody_is_changed_without_a_yes(home: Path, project: Path) -> None:
    furnish(home, "codex")
    before = files(home)
    done = cli("connect", "codex")
    assert done.code == 2
    assert "--yes" in done.err
    assert files(home) == before


def test_what_cannot_be_parsed_is_left_alone_and_said(home: Path, project: Path) -> None:
    furnish(home, "claude-code")
    broken = home / ".claude/settings.json"
    broken.write_bytes(b'{"hooks": ')
    done = cli("connect", "claude-code", "--yes")
    assert done.code == 4
    assert "settings.json is left alone" in done.err
    assert '"UserPromptSubmit"' in done.err
    assert broken.read_bytes() == b'{"hooks": '
    assert '"engram"' in (home / ".claude.json").read_text()


def test_json_says_all_of_it(home: Path, project: Path) -> None:
    furnish(home, "zed")
    found = run("connect", "zed", "--json").json
    (agent,) = found["agents"]
    assert (found["applied"], agent["agent"], agent["refused"]) == (True, "zed", [])
    assert [change["action"] for change in agent["changes"]] == ["change", "change"]
    for change in agent["changes"]:
        assert (
            Path(change["backup"]).read_bytes()
            == (CONFIGS / PLACES["zed"][os.path.relpath(change["path"], home)]).read_bytes()
        )
        assert stat.S_IMODE(Path(change["backup"]).stat().st_mode) == 0o600


def test_secrets_beside_the_change_are_not_shown(home: Path, project: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"gh": {"env": {"GITHUB_TOKEN": SECRET}}}}, indent=2))
    done = run("connect", "cursor")
    assert SECRET not in done.out + done.err
    assert SECRET in path.read_text()


def test_the_mode_of_a_file_stays_and_a_new_one_is_private(home: Path, project: Path) -> None:
    furnish(home, "claude-code")
    for name, mode in ((".claude.json", 0o600), (".claude/settings.json", 0o664)):
        (home / name).chmod(mode)
    run("connect", "claude-code")
    run("connect", "codex")
    modes = {
        name: stat.S_IMODE((home / name).stat().st_mode)
        for name in (".claude.json", ".claude/settings.json", ".codex/config.toml")
    }
    assert modes == {".claude.json": 0o600, ".claude/settings.json": 0o664, ".codex/config.toml": 0o600}


def test_a_link_is_followed_and_said(home: Path, project: Path) -> None:
    furnish(home, "codex")
    kept = home / "dotfiles"
    kept.mkdir()
    shutil.move(home / ".codex/config.toml", kept / "codex.toml")
    (home / ".codex/config.toml").symlink_to(kept / "codex.toml")
    before = (kept / "codex.toml").read_bytes()
    done = run("connect", "codex")
    assert f"is a link: the file that it leads to, {kept}/codex.toml, is changed" in done.err
    assert (home / ".codex/config.toml").is_symlink()
    assert b"engram" in (kept / "codex.toml").read_bytes()
    run("disconnect", "codex")
    assert (kept / "codex.toml").read_bytes() == before
    assert (home / ".codex/config.toml").is_symlink()


def test_what_is_no_file_is_left_alone(home: Path, project: Path) -> None:
    (home / ".codex/config.toml").mkdir(parents=True)
    assert cli("connect", "codex", "--yes").code == 4
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_bytes(b"\xff\xfe{}")
    assert "it is not UTF-8" in cli("connect", "cursor", "--yes").err


def test_a_file_that_changes_between_preview_and_writing_is_not_overwritten(
    home: Path, project: Path
) -> None:
    furnish(home, "zed")
    host = connect.agent_named("zed")
    plan = connect.plan(host, connect.wish(os.getcwd()))
    path = home / ".config/zed/settings.json"
    path.write_text("{}")
    with pytest.raises(ConflictError):
        connect.apply(plan, Clock(), connected=True)
    assert path.read_text() == "{}"


def test_somebody_elses_skill_of_that_name_is_left_alone(home: Path, project: Path) -> None:
    path = home / ".claude/skills/engram/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    done = cli("connect", "claude-code", "--yes")
    assert (done.code, path.read_text()) == (4, "mine")
    run("disconnect", "claude-code")
    assert path.read_text() == "mine"


def test_a_file_that_two_agents_need_stays_until_both_are_gone(home: Path, project: Path) -> None:
    furnish(home, "zed")
    before = (project / "AGENTS.md").read_bytes()
    run("connect", "zed")
    run("connect", "goose")
    run("disconnect", "zed")
    assert b"engram:begin" in (project / "AGENTS.md").read_bytes()
    run("disconnect", "goose")
    assert (project / "AGENTS.md").read_bytes() == before


def test_rules_can_be_left_out(home: Path, project: Path) -> None:
    run("connect", "goose", "--no-rules")
    assert not (project / "AGENTS.md").exists()


def test_all_means_those_that_are_installed(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(shutil.which("git") or ""))
    (home / ".codex").mkdir()
    (home / ".gemini").mkdir()
    found = run("connect", "--all", "--json").json
    assert [one["agent"] for one in found["agents"]] == ["codex", "gemini-cli"]
    gone = run("disconnect", "--all", "--json").json
    assert [one["agent"] for one in gone["agents"]] == ["codex", "gemini-cli"]
    assert files(home).keys() == {".gitconfig"}


def test_when_the_memory_of_connecting_is_lost_only_ours_goes(home: Path, project: Path) -> None:
    for agent in ("claude-code", "codex", "goose"):
        furnish(home, agent)
    before = files(home)
    for agent in ("claude-code", "codex", "goose"):
        run("connect", agent)
    Path(places.connections_file()).write_text("lost")
    for agent in ("claude-code", "codex", "goose"):
        run("disconnect", agent)
    assert files(home) == {
        **before,
        "project/AGENTS.md": b"",
        ".codex/hooks.json": before[".codex/hooks.json"],
    } | {name: raw for name, raw in files(home).items() if name == "project/AGENTS.md"}


@pytest.mark.parametrize(
    "arguments",
    [("connect",), ("connect", "nobody"), ("connect", "codex", "--all"), ("connect", "--print"), ("disconnect",),
     ("connect", "codex", "--plugin", "x")],
)  # fmt: skip
def test_a_wrong_call_is_said(arguments: tuple[str, ...], project: Path) -> None:
    assert cli(*arguments, "--yes").code == 2


# --- what is written works


def test_hooks_and_server_are_started_by_an_absolute_path_that_works(home: Path, project: Path) -> None:
    run("connect", "claude-code")
    settings_ = json.loads((home / ".claude/settings.json").read_text())
    commands = [
        hook["command"]
        for groups in settings_["hooks"].values()
        for group in groups
        for hook in group["hooks"]
    ]
    assert len(commands) == 10
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


def test_a_python_with_a_space_in_its_path_is_quoted() -> None:
    from engram.adapters.agents.edits import is_our_hook
    from engram.adapters.agents.hook_events import HOOKS
    from engram.adapters.agents.parts import hook_command

    command = hook_command("/opt/my python/bin/python", HOOKS["codex"][0], "codex")
    assert command.startswith("'/opt/my python/bin/python' -P")
    assert is_our_hook({"command": command})


def test_the_plugin_folder_is_whole(home: Path, project: Path) -> None:
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


def test_tools_that_only_read_are_allowed_on_request(home: Path, project: Path) -> None:
    run("connect", "claude-code")
    assert "permissions" not in json.loads((home / ".claude/settings.json").read_text())
    run("connect", "claude-code", "--allow-tools")
    allowed = json.loads((home / ".claude/settings.json").read_text())["permissions"]["allow"]
    assert allowed == ["mcp__engram__recall_query", "mcp__engram__get", "mcp__engram__status"]


def test_snippets_are_printed_for_every_agent_and_a_development_container(project: Path) -> None:
    for host in HOSTS:
        assert "engram" in ok("connect", host.name, "--print").out
    assert "pre_stop" in ok("connect", "devcontainer", "--print").out
    assert ok("connect", "zed", "--print", "--json").json["snippets"][0]["path"].endswith("zed/settings.json")


def test_opencodes_second_version_has_its_servers_one_level_deeper(home: Path, project: Path) -> None:
    path = home / ".config/opencode/opencode.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"mcp": {"servers": {}}}')
    run("connect", "opencode")
    assert json.loads(path.read_text())["mcp"]["servers"]["engram"]["command"][-1] == "mcp"


def test_folders_that_a_variable_moves_are_followed(
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
def test_opencodes_plugin_asks_the_hooks(home: Path, project: Path) -> None:
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
