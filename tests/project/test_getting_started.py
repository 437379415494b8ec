"""The commands on the pages for newcomers work in a fresh home, from top to bottom."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [  # page, least number of commands, a query afterwards, and a part of its answer
    ("getting-started.md", 14, "do otters hold hands", "Otters hold hands asleep"),
    ("moving-in.md", 13, "tabs or spaces in Go", "Prefers tabs over spaces"),
    ("connect.md", 20, "", ""),
    ("../README.md", 6, "is the query parser safe for user input?", "crashes on deeply nested input"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "least", "question", "answer"), PAGES, ids=[page for page, *_ in PAGES])
def test_every_command_of_a_page_runs_in_a_fresh_home(
    tmp_path: Path, page: str, least: int, question: str, answer: str
) -> None:
    home, repository, programs = tmp_path / "home", tmp_path / "repository", tmp_path / "bin"
    (home / "notes").mkdir(parents=True)
    (home / "notes/cranes.md").write_text("# Cranes\n\nCranes nest in wetlands in spring.\n", "utf-8")
    (home / "vault").mkdir()
    (home / "vault/herons.md").write_text("# Herons\n\nHerons wait; [[cranes]] nest in wetlands.\n", "utf-8")
    (home / "basic-memory").mkdir()
    (home / "basic-memory/otters.md").write_text(
        "---\ntitle: Otters\ntype: note\npermalink: otters\n---\n\n# Otters\n\n- [fact] Otters hold hands asleep.\n",
        "utf-8",
    )
    repository.mkdir()
    (repository / "CLAUDE.md").write_text("# Rules\n\n- Run `make lint` before each commit.\n", "utf-8")
    memories = {"results": [{"id": "1", "memory": "Prefers tabs over spaces in Go.", "user_id": "ada"}]}
    (repository / "memories.json").write_text(json.dumps(memories), "utf-8")
    programs.mkdir()
    program = programs / "engram"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m engram "$@"\n', "utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "HOME": str(home), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    environment |= {
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "PYTHONPATH": os.getcwd(),
    }
    environment |= {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}
    subprocess.run(("git", "init", "-q", "--bare", str(tmp_path / "remote.git")), check=True)
    subprocess.run(("git", "init", "-q"), cwd=repository, check=True)
    subprocess.run(
        ("git", "remote", "add", "origin", str(tmp_path / "remote.git")), cwd=repository, check=True
    )
    blocks = re.findall(r"^```console\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    typed = [
        line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")
    ]
    asked = re.findall(r"^```sh\n(engram connect \S+)", (DOCS / page).read_text("utf-8"), re.MULTILINE)
    typed += [f"{line} --yes" for line in asked]  # the user's answer
    assert len(typed) >= least
    for line in typed:
        done = subprocess.run(
            ("bash", "-c", line),
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    if question:
        found = subprocess.run(
            (str(program), "query", question),
            cwd=repository,
            env=environment,
            capture_output=True,
            check=True,
        )
        assert answer in found.stdout.decode()
    else:
        agents = subprocess.run(
            (str(program), "agents", "--json"),
            cwd=repository,
            env=environment,
            capture_output=True,
            check=True,
        )
        named = {line.split()[2] for line in typed if re.match(r"engram connect [a-z-]+ .*--yes", line)}
        known = [one for one in json.loads(agents.stdout)["agents"] if "connected" in one]
        assert named == {one["agent"] for one in known if one["connected"]}


@pytest.mark.slow
def test_the_commands_for_uninstalling_remove_everything(tmp_path: Path) -> None:
    home, repository = tmp_path / "home", tmp_path / "repository"
    home.mkdir()
    # A user does not type so fast that the background process of one command still writes what the next one removes.
    environment = {**os.environ, "HOME": str(home), "ENGRAM_BACKGROUND": "inline"}

    def typed(line: str) -> None:
        line = re.sub(r"^engram ", f"{sys.executable} -P -m engram ", line)
        subprocess.run(("bash", "-c", line), cwd=repository, env=environment, capture_output=True, check=True)

    subprocess.run(("git", "init", "-q", "--bare", str(tmp_path / "remote.git")), check=True)
    subprocess.run(("git", "clone", "-q", str(tmp_path / "remote.git"), str(repository)), check=True)
    for line in (
        "git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m first",
        "engram init",
        "engram record 'Otters hold hands asleep.' -c fact",
        "engram query otters",
        "engram feedback --helpful L1",
        "engram connect claude-code --yes",
        "engram sync",
    ):
        typed(line)
    page = (DOCS / "getting-started.md").read_text("utf-8")
    block = page.split("## Removing it")[1].split("```sh\n")[1].split("```")[0]
    lines = [line.partition(" #")[0].strip() for line in block.splitlines()]
    assert lines[-1].startswith("uv tool uninstall")
    for line in lines[:-1]:
        typed(line if "disconnect" not in line else f"{line} --yes")
    inside = [path for path in (repository / ".git").rglob("*") if path.is_file()]
    assert not [path for path in inside if "engram" in str(path.relative_to(repository))]
    assert "engram" not in (repository / ".git/config").read_text("utf-8")
    assert not [path for path in home.rglob("*") if path.is_file()]
