"""The commands, scripts and links in the README and the docs exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from apikit import ok

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]
HERE = {**os.environ, "ENGRAM_BACKGROUND": "inline", "GIT_AUTHOR_NAME": "Ada Lovelace"}
START = "from engram.cli.main import run; run()"


def shell_lines(page: Path) -> list[str]:
    """Return the commands in a page's shell blocks: all lines, or those after `$ ` if output is shown too."""
    lines = []
    for block in re.findall(
        r"^```(?:sh|bash|console)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    ):
        typed = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
        lines += typed or block.splitlines()
    return lines


def commands(page: Path) -> set[str]:
    """Return the Engram commands on a page, in shell blocks (`engram query ...`) and in running text."""
    typed = (
        "\n".join(shell_lines(page)) + "\n" + "\n".join(re.findall(r"`([^`\n]+)`", page.read_text("utf-8")))
    )
    return set(re.findall(r"^(?:engram|\./run) ([a-z][a-z-]*)\b", typed, re.MULTILINE))


def test_readme_shows_commands() -> None:
    assert {"record", "query", "feedback"} <= commands(ROOT / "README.md")


def test_the_session_in_the_readme_prints_what_it_shows(tmp_path: Path) -> None:
    subprocess.run(("git", "init", "-q"), cwd=tmp_path, check=True)
    blocks = re.findall(
        r"^```console\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    steps = [step for block in blocks for step in re.split(r"^\$ engram ", block, flags=re.MULTILINE)[1:]]
    assert len(steps) >= 5
    for step in steps:
        command, _, shown = step.partition("\n")
        typed = (sys.executable, "-c", START, *shlex.split(command))
        done = subprocess.run(
            typed, cwd=tmp_path, env=HERE, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))  # … stands for what differs
        assert re.fullmatch(pattern, done.stdout, re.DOTALL), f"{command}\n{done.stdout}"


SHOWN = sorted({command for page in PAGES for command in commands(page)})


@pytest.mark.parametrize("command", SHOWN)
def test_every_shown_command_exists(command: str) -> None:
    assert command in ok(command, "--help").out


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_script_shown_exists(page: Path) -> None:
    scripts = re.findall(r"^(?:bash )?(\./[\w./-]+|\.ci/run)", "\n".join(shell_lines(page)), re.MULTILINE)
    assert [script for script in scripts if not (ROOT / script).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_link_inside_the_project_has_a_target(page: Path) -> None:
    links = re.findall(r"\]\((?!\w+:)([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
