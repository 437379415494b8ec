"""The published plugin and registry entry match the project, and the plugin starts the available Engram."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from engram.version import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LAUNCHER = ROOT / ".claude-plugin/engram/scripts/engram.sh"


def tool(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_plugin_and_registry_entry_are_up_to_date() -> None:
    written = tool("generate_plugin").files()
    stale = [name for name, text in written.items() if (ROOT / name).read_text("utf-8") != text]
    assert stale == [], "python tools/generate_plugin.py"


def test_no_published_file_names_a_path_of_this_machine() -> None:
    texts = "".join(tool("generate_plugin").files().values())
    assert sys.executable not in texts
    assert str(ROOT) not in texts


def test_registry_entry_names_the_package_its_version_and_a_command_that_exists() -> None:
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    package = entry["packages"][0]
    assert (entry["version"], package["version"], package["identifier"]) == (
        __version__,
        __version__,
        PROJECT["name"],
    )
    assert PROJECT["name"] in PROJECT["scripts"]  # `uvx PACKAGE` runs the command of that name
    assert f"<!-- mcp-name: {entry['name']} -->" in (ROOT / "README.md").read_text("utf-8")
    assert len(entry["description"]) <= 100  # the registry's limit


@pytest.mark.parametrize("page", ["README.md", ".pre-commit-hooks.yaml", "SECURITY.md"])
def test_every_url_of_the_project_is_the_one_in_its_metadata(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert text.count("github.com/engram") == text.count(
        PROJECT["urls"]["Repository"].removeprefix("https://")
    )


def started(folder: Path, *arguments: str, programs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    for name, script in programs.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        program.chmod(0o755)
    shell = shutil.which("sh")
    assert shell is not None
    return subprocess.run(
        (shell, str(LAUNCHER), *arguments),
        env={**os.environ, "PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_plugin_starts_the_installed_engram_before_uvx(tmp_path: Path) -> None:
    programs = {"engram": 'echo "engram $*"', "uvx": 'echo "uvx $*"'}
    assert started(tmp_path, "mcp", programs=programs).stdout == "engram mcp\n"


def test_plugin_runs_the_released_engram_by_uvx(tmp_path: Path) -> None:
    done = started(tmp_path, "hook", "prompt", programs={"uvx": 'echo "uvx $*"'})
    assert done.stdout == "uvx --quiet --from engram-lore engram hook prompt\n"


def test_plugin_without_engram_reports_it_once_a_session_and_is_silent_otherwise(tmp_path: Path) -> None:
    start = started(tmp_path, "hook", "session-start", programs={})
    assert "not installed" in json.loads(start.stdout)["systemMessage"]
    prompt = started(tmp_path, "hook", "prompt", programs={})
    assert (prompt.returncode, prompt.stdout, prompt.stderr) == (0, "", "")
    server = started(tmp_path, "mcp", programs={})
    assert (server.returncode, "not installed" in server.stderr) == (127, True)


def test_site_has_every_page_in_its_navigation() -> None:
    site = tool("build_site")
    groups = site.navigation((ROOT / "docs/README.md").read_text("utf-8"))
    listed = {page for _, pages in groups for page in pages}
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert pages - listed == {"README.md"}


def test_site_links_other_files_to_the_repository() -> None:
    site, here = tool("build_site"), ROOT / "docs/agents.md"
    text = (
        "```json query\n{}\n```\n[a](sync.md#setting-up) [b](../CONTRIBUTING.md#rules) [c](../benchmarks)\n"
    )
    assert site.page_for_site(text, here) == (
        "```json\n{}\n```\n[a](sync.md#setting-up) "
        f"[b]({site.repository()}/blob/main/CONTRIBUTING.md#rules) [c]({site.repository()}/tree/main/benchmarks)\n"
    )
