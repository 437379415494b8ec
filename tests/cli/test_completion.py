"""Completion scripts: valid for their shells, with all commands and the values of the store."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from apikit import make_plain_store, ok, open_test_store

from engram.cli.registry import COMMANDS


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
def test_every_completion_script_has_all_commands(shell: str) -> None:
    script = ok("completion", shell).out
    for command in COMMANDS:
        assert command.name in script
    assert ok("completion", shell, "--json").json["script"].strip() == script.strip()


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
def test_every_completion_script_is_valid_for_its_shell(shell: str, tmp_path: Path) -> None:
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
    assert done.stdout.decode().splitlines() == ["query", "--min-confidence", "bash zsh tcsh fish"], (
        done.stderr
    )


ASKED_OF_BASH = """
    source "$1"; cd "$2"; function=$(complete -p engram | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); $function; echo "${COMPREPLY[@]}"; }
    complete_words engram query x --tag qu; complete_words engram record x --category arch
    complete_words engram query x --strategy ""
"""
ASKED_OF_FISH = """
    source $argv[1]; cd $argv[2]
    for typed in "engram query x --tag qu" "engram record x --category arch" "engram query x --strategy "
        complete -C $typed | string replace -r "\\t.*" "" | string join " "
    end
"""


@pytest.mark.parametrize(
    "command", [("bash", "-c", ASKED_OF_BASH, "bash"), ("fish", "-c", ASKED_OF_FISH)], ids=["bash", "fish"]
)
def test_values_are_completed_from_the_store_around_the_shell(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed here")
    root = make_plain_store(tmp_path / "store")
    with open_test_store(root) as engram:
        engram.record("Queue consumers must be idempotent.", category="fact", tags=["queue", "quality"])
    script = tmp_path / "script"
    script.write_text(ok("completion", command[0]).out, "utf-8")
    program = tmp_path / "bin" / "engram"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m engram "$@"\n', "utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [*command, str(script), str(root)], capture_output=True, check=False, env=environment
    )
    assert [" ".join(sorted(line.split())) for line in done.stdout.decode().splitlines()] == [
        "quality queue",
        "architectural-decision",
        "hybrid scan words",
    ], done.stderr


@pytest.mark.parametrize(
    ("kind", "begun", "values"),
    [
        ("tag", "QU", ["queue"]),
        ("category", "edge-case", ["edge-case-discovery"]),
        ("type", "sem", ["semantic"]),
        ("entity", "", ["rabbitmq"]),
        ("scope", "us", ["user"]),
        ("wisdom", "", []),
    ],
)
def test_complete_prints_the_values_of_the_store(
    tmp_path: Path, kind: str, begun: str, values: list[str]
) -> None:
    root = make_plain_store(tmp_path / "store")
    with open_test_store(root) as engram:
        engram.record("Queue consumers must be idempotent.", category="fact", tags=["queue"])
        engram.link_entity("RabbitMQ", type="tool")
    assert ok("complete", kind, begun, "--store", str(root), "--json").json["values"] == values


def test_refs_of_the_session_are_completed_before_ids(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    with open_test_store(root) as engram:
        lore_id = engram.record("Queue consumers must be idempotent.", category="fact").lore.id
    ok("query", "queue consumers", "--store", str(root))
    assert ok("complete", "ref", "--store", str(root)).out.split() == ["L1", lore_id]
