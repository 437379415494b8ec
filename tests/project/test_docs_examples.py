"""The examples under docs/examples/ work as described."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from apikit import QUEUE, TIDES, cli, open_test_store

from tests.review.test_check import code as code
from tests.review.test_check import put

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs/examples"
QUESTION = "queue consumer patterns"


def example(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # where pydantic resolves annotations
    found.loader.exec_module(module)
    return module


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert [
        file.name
        for file in EXAMPLES.iterdir()
        if file.is_file() and f"- [{file.name}]({file.name}): " not in listed
    ] == ["README.md"]


def test_the_agent_loop_recalls_votes_and_learns(tmp_path: Path) -> None:
    loop = example("agent_loop")
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return (
            "Make the handler idempotent [L1].\nLEARNED: The billing queue redelivers after thirty seconds."
        )

    with open_test_store(tmp_path) as store:
        store.record(QUEUE, category="fact")
        store.record(TIDES, category="fact")
        answers = list(loop.agent_loop(store, model, [QUESTION, QUESTION]))
        assert len(answers) == 2
        assert QUEUE in prompts[0]
        assert TIDES not in prompts[0]
        assert QUEUE not in prompts[1], "a session is shown an entry once"
        assert store.get("L1").lore.confidence == 0.78
        waiting = store.list(status="pending").lore
        assert {one.lore.content for one in waiting} == {"The billing queue redelivers after thirty seconds."}


def test_the_model_of_the_agent_loop_can_be_a_command() -> None:
    line = shlex.join([sys.executable, "-c", "print(input().upper())"])
    assert example("agent_loop").command(line)("a prompt\n") == "A PROMPT\n"


def test_the_retriever_returns_documents_and_works_in_a_graph(tmp_path: Path) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed; the example is for it")
    retrievers = example("langchain_retriever")
    with open_test_store(tmp_path) as store:
        store.record(QUEUE, category="fact")
        store.record(TIDES, category="fact")
        retriever = retrievers.EngramRetriever(store=store, k=1)
        (document,) = retriever.invoke(QUESTION)
        assert (document.page_content, document.metadata["ref"]) == (QUEUE, "L1")
        store.feedback(helpful=document.metadata["ref"])
        state = retrievers.recall_node(retriever)({"question": QUESTION})
        assert [one.metadata["confidence"] for one in state["documents"]] == [0.78]


def test_the_workflow_reviews_a_pull_request(code: Path) -> None:
    workflow = yaml.safe_load((EXAMPLES / "check-lore.yml").read_text("utf-8"))
    assert workflow[True] == {
        "pull_request": {"paths": ["lore/**", ".engram.toml"]}
    }  # "on" is a boolean to YAML 1.1
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["check"]["steps"][-1]["uses"].startswith("engram-lore/engram@")


@pytest.mark.parametrize("since", [True, False], ids=["since the base", "without its commit"])
def test_the_action_reviews_the_lore_of_a_pull_request(code: Path, tmp_path: Path, since: bool) -> None:
    step = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"][-1]
    base = subprocess.run(("git", "rev-parse", "HEAD"), cwd=code, capture_output=True, text=True, check=True)
    put(code, "bad.md", "---\nid: bad\n---\nText.\n")
    program = tmp_path / "pipx"  # skips the installation, as Engram is installed here
    program.write_text(f'#!/bin/sh\nshift 4; exec "{sys.executable}" -P -m engram "$@"\n', "utf-8")
    program.chmod(0o755)
    assert set(step["env"]) == {"ACTION", "SINCE", "STRICT"}
    done = subprocess.run(
        ("bash", "-e", "-c", step["run"]),
        cwd=code,
        env={
            **os.environ,
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "ACTION": str(ROOT),
            "SINCE": base.stdout.strip() if since else "0" * 40,
            "STRICT": "false",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=lore/bad.md,line=2,title=engram%3A file::id must be a ULID")


def test_the_hook_checks_the_lore_of_a_commit(code: Path) -> None:
    hook = yaml.safe_load((EXAMPLES / "pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"][0]
    published = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))[0]
    assert [published[key] for key in ("id", "entry", "files")] == [
        hook[key] for key in ("id", "entry", "files")
    ]
    assert cli(*arguments(hook["entry"]), cwd=code).code == 0
    put(code, "bad.md", "---\nid: bad\n---\nText.\n", commit=False)
    assert cli(*arguments(hook["entry"]), cwd=code).code == 1


def test_the_devcontainer_calls_existing_commands() -> None:
    container: dict[str, Any] = json.loads((EXAMPLES / "devcontainer.json").read_text("utf-8"))
    steps = f"{container['postCreateCommand']} && {container['postStartCommand']}".split(" && ")
    calls = [arguments(step) for step in steps if step.startswith("engram ")]
    assert [call[0] for call in calls] == ["connect", "status"]
    for name, *options in calls:
        told = cli(name, "--help").out
        assert [option for option in options if option not in told] == []


def arguments(line: str) -> list[str]:
    """Return the arguments of a command line that calls engram."""
    program, *rest = shlex.split(line)
    assert program == "engram"
    return rest
