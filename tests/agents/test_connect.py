"""Connecting agents: preview, merge, backup, idempotence, and exact removal."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
from pathlib import Path

import pytest
from apikit import SECRET, cli, ok
from connectkit import CONFIGS, PLACES, files, formats_first, furnish, make_project, run
from effort import examples, sampled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.adapters.agents.hosts import NAMES
from engram.adapters.files import places
from engram.domain.errors import ConflictError
from engram.usecases.agents import connect
from engram.usecases.store.own_command import own_command
from engram.usecases.store.store import Clock

EACH_AGENT = sampled("agent", formats_first(NAMES), 3)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the places of files differ by system")


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(home, monkeypatch)


def folders_in(home: Path) -> set[str]:
    """Return the folders except git's and Engram's own."""
    names = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_dir()}
    return {name for name in names if not re.search(r"^\.(local|cache)|\.git(/|$)", name)}


def test_every_agent_is_covered_by_these_tests() -> None:
    assert PLACES.keys() == {*NAMES}
    wanted = "claude-code claude-desktop cursor windsurf codex gemini-cli opencode vscode copilot-cli zed goose cline roo"
    assert {*wanted.split()} <= {*NAMES}


@EACH_AGENT
@pytest.mark.parametrize("furnished", [True, False], ids=["with-files", "without"])
def test_connecting_twice_and_disconnecting_restores_every_file(
    agent: str, furnished: bool, home: Path, project: Path
) -> None:
    if furnished:
        furnish(home, agent)
    before, folders = files(home), folders_in(home)
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
    assert (files(home), folders_in(home)) == (before, folders)
    assert not list(home.rglob("*.engram-tmp"))


@EACH_AGENT
def test_disconnecting_keeps_the_users_later_changes(agent: str, home: Path, project: Path) -> None:
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
@settings(max_examples=examples(12, 300), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_files_are_merged_and_restored_or_left_alone(data: st.DataObject, home: Path) -> None:
    """Remove, double or insert bytes: nothing of the user's ever changes."""
    agent = data.draw(st.sampled_from([name for name in NAMES if PLACES[name]]))

    def mutate(raw: bytes) -> bytes:
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
    furnish(home, agent, mutate)
    before = files(home)
    host = connect.agent_named(agent)
    wanted = connect.ConnectOptions(own_command())
    plan = connect.plan(host, wanted)
    connect.apply(plan, Clock(), connected=True)
    now = files(home)
    for refused in plan.refused:
        name = os.path.relpath(refused.path, home)
        assert now[name] == before[name]
    assert not connect.plan(host, wanted).wanted
    connect.apply(connect.plan_removal(host, wanted), Clock(), connected=False)
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


def test_nothing_is_changed_without_a_confirmation(home: Path, project: Path) -> None:
    furnish(home, "codex")
    before = files(home)
    done = cli("connect", "codex")
    assert done.code == 2
    assert "--yes" in done.err
    assert files(home) == before


def test_a_file_that_cannot_be_parsed_is_left_alone_and_reported(home: Path, project: Path) -> None:
    furnish(home, "claude-code")
    broken = home / ".claude/settings.json"
    broken.write_bytes(b'{"hooks": ')
    done = cli("connect", "claude-code", "--yes")
    assert done.code == 4
    assert "settings.json is left alone" in done.err
    assert '"UserPromptSubmit"' in done.err
    assert broken.read_bytes() == b'{"hooks": '
    assert '"engram"' in (home / ".claude.json").read_text()


def test_json_output_has_changes_and_backups(home: Path, project: Path) -> None:
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


def test_secrets_near_a_change_are_not_shown(home: Path, project: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"gh": {"env": {"GITHUB_TOKEN": SECRET}}}}, indent=2))
    done = run("connect", "cursor")
    assert SECRET not in done.out + done.err
    assert SECRET in path.read_text()


def test_files_keep_their_mode_and_new_ones_are_private(home: Path, project: Path) -> None:
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


def test_a_symbolic_link_is_followed_and_reported(home: Path, project: Path) -> None:
    furnish(home, "codex")
    dotfiles = home / "dotfiles"
    dotfiles.mkdir()
    shutil.move(home / ".codex/config.toml", dotfiles / "codex.toml")
    (home / ".codex/config.toml").symlink_to(dotfiles / "codex.toml")
    before = (dotfiles / "codex.toml").read_bytes()
    done = run("connect", "codex")
    assert f"is a link: the file that it leads to, {dotfiles}/codex.toml, is changed" in done.err
    assert (home / ".codex/config.toml").is_symlink()
    assert b"engram" in (dotfiles / "codex.toml").read_bytes()
    run("disconnect", "codex")
    assert (dotfiles / "codex.toml").read_bytes() == before
    assert (home / ".codex/config.toml").is_symlink()


def test_a_folder_or_a_file_that_is_not_utf8_is_left_alone(home: Path, project: Path) -> None:
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
    plan = connect.plan(host, connect.connect_options(os.getcwd()))
    path = home / ".config/zed/settings.json"
    path.write_text("{}")
    with pytest.raises(ConflictError):
        connect.apply(plan, Clock(), connected=True)
    assert path.read_text() == "{}"


def test_a_foreign_skill_of_that_name_is_left_alone(home: Path, project: Path) -> None:
    path = home / ".claude/skills/engram/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    done = cli("connect", "claude-code", "--yes")
    assert (done.code, path.read_text()) == (4, "mine")
    run("disconnect", "claude-code")
    assert path.read_text() == "mine"


def test_a_file_shared_by_two_agents_stays_until_both_are_disconnected(home: Path, project: Path) -> None:
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


def test_all_means_all_installed_agents(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(shutil.which("git") or ""))
    (home / ".codex").mkdir()
    (home / ".gemini").mkdir()
    found = run("connect", "--all", "--json").json
    assert [one["agent"] for one in found["agents"]] == ["codex", "gemini-cli"]
    disconnected = run("disconnect", "--all", "--json").json
    assert [one["agent"] for one in disconnected["agents"]] == ["codex", "gemini-cli"]
    assert files(home).keys() == {".gitconfig"}


def test_without_the_record_of_connections_only_engrams_parts_are_removed(home: Path, project: Path) -> None:
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
    [("connect",), ("connect", "nobody"), ("connect", "codex", "--all"), ("disconnect",),
     ("connect", "codex", "--plugin", "x")],
)  # fmt: skip
def test_wrong_arguments_are_refused(arguments: tuple[str, ...], project: Path) -> None:
    assert cli(*arguments, "--yes").code == 2
