"""Completion scripts: valid for their shells, and knowing every command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from apikit import ok

from engram.cli.registry import COMMANDS


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_script_names_every_command(shell: str) -> None:
    script = ok("completion", shell).out
    for command in COMMANDS:
        assert command.name in script
    assert ok("completion", shell, "--json").json["script"].strip() == script.strip()


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_script_is_valid(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    path = tmp_path / "script"
    path.write_text(ok("completion", shell).out, "utf-8")
    done = subprocess.run([program, "-n", str(path)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text(ok("completion", "bash").out, "utf-8")
    ask = """
        source "$1"; function=$(complete -p engram | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); $function; echo "${COMPREPLY[@]}"; }
        complete_words engram que; complete_words engram query --min; complete_words engram completion ""
    """
    done = subprocess.run(["bash", "-c", ask, "bash", str(path)], capture_output=True, check=False)
    assert done.stdout.decode().splitlines() == ["query", "--min-confidence", "bash zsh tcsh"], done.stderr
