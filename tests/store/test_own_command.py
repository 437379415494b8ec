"""The command in the configuration of agents and git starts this Engram, even if its environment is temporary."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from gitkit import git, isolate
from storekit import PROJECT

from engram.adapters.agents.hosts import host_named
from engram.adapters.agents.parts import ConnectOptions, server_part
from engram.adapters.agents.servers import is_ours
from engram.adapters.git.run.layout import find_repository
from engram.adapters.git.write.merge_driver import configured_command
from engram.usecases.merge.install_driver import install_merge_driver
from engram.usecases.store.own_command import own_command

if TYPE_CHECKING:
    from pathlib import Path

KEPT = (sys.executable, "-P", "-m", "engram")


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment in a cache, as `uvx` and `pipx run` make them; returns the cache."""
    isolate(monkeypatch, tmp_path)
    cache = tmp_path / "cache"
    (cache / "archive/one").mkdir(parents=True)
    (cache / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    monkeypatch.setattr(sys, "prefix", str(cache / "archive/one"))
    return cache


def test_a_lasting_environment_is_started_by_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "CACHEDIR.TAG").write_text("")  # of the environment itself, as uv makes one
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("UV", "/bin/uv")
    assert own_command() == KEPT


def test_a_uvx_environment_is_started_by_uvx_from_its_source(
    cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV", "/opt/uv")
    assert own_command() == ("/opt/uv", "tool", "run", "--quiet", "--from", str(PROJECT), "engram")


def test_a_pipx_run_environment_is_started_by_pipx_from_its_source(
    cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("PATH", "")
    assert own_command() == ("pipx", "run", "--quiet", "--spec", str(PROJECT), "engram")


@pytest.mark.parametrize("agent", ["claude-code", "opencode", "copilot-cli"])
def test_the_server_of_such_an_environment_is_recognised(
    cached: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    monkeypatch.setenv("UV", "/opt/uv")
    host = host_named(agent)
    assert host is not None
    part = server_part(host, ConnectOptions(own_command()))
    assert part is not None
    assert is_ours(part.edit.value)


def test_the_merge_driver_of_such_an_environment_works(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = cached.parent / "u v"
    uv.write_text(f'#!/bin/sh\n[ "$1 $2" = \'tool run\' ] && shift 6 && exec {shlex.join(KEPT)} "$@"\n')
    uv.chmod(0o755)
    monkeypatch.setenv("UV", str(uv))
    root = cached.parent / "r"
    git(cached.parent, "init", "-q", "r")
    repository = find_repository(str(root))
    assert repository is not None
    install_merge_driver(repository)
    command = configured_command(repository).replace(" %O %A %B %P", " --help")
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, cwd=root)
    assert (ran.returncode, "merge" in ran.stdout) == (0, True), ran.stderr
