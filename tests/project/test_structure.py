"""The structural rules of the project: documented modules of one idea, layers, no import cycles, clean scripts."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

import pytest
import rustworkx

ROOT = Path(__file__).resolve().parents[2]
CODE = ("engram", "tui", "tests", "tools", "benchmarks")
MOST_LINES = 600
MOST_MODULES = 40
DRAWERS = {"util", "utils", "helper", "helpers", "common", "misc"}
NOT_OURS = {"__pycache__", "dist", "bundled"}
OWN_DOT_FOLDERS = {".ci", ".github"}


def project_files() -> Iterator[Path]:
    """Return all files of the project, without caches, environments and the bundled model."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name for name in folders if name not in NOT_OURS and (name[0] != "." or name in OWN_DOT_FOLDERS)
        ]
        yield from (Path(folder, name) for name in names)


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


FILES = sorted(project_files())
MODULES = [path for path in FILES if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in CODE]
SCRIPTS = [path for path in FILES if path.read_bytes()[:19] == b"#!/usr/bin/env bash"]


def test_the_rules_below_check_real_files() -> None:
    assert {"engram/version.py", "tests/conftest.py"} <= set(names(MODULES))
    assert {"run", "test", ".ci/run", "tools/environment.sh"} <= set(names(SCRIPTS))


def test_no_module_is_too_long_to_read_from_top_to_bottom() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert names([path for path, lines in lengths.items() if lines > MOST_LINES]) == []


def test_no_folder_has_more_modules_than_a_reader_can_scan() -> None:
    folders = Counter(path.parent for path in MODULES)
    assert names([folder for folder, modules in folders.items() if modules > MOST_MODULES]) == []


def test_every_module_states_its_purpose() -> None:
    begins = re.compile(rb'(?:#.*\n|\s)*"""\S')
    assert names([path for path in MODULES if not begins.match(path.read_bytes())]) == []


def test_no_module_is_a_collection_of_utilities() -> None:
    assert names([path for path in MODULES if DRAWERS & {path.stem, path.parent.name}]) == []


def test_tests_of_a_module_are_in_the_folder_of_its_room() -> None:
    # Besides the rooms: other parts, each front end, and tests of the whole product.
    others = {
        "git",
        "embed",
        "operations",
        "cli",
        "mcp",
        "http",
        "hooks",
        "tui",
        "benchmarks",
        "project",
        "hostile",
        "seeds",
    }
    rooms = {path.parent.name for path in MODULES if path.parent.parent.name in ("usecases", "domain")}
    folders = {path.parent for path in MODULES if path.stem.startswith("test_")}
    assert {folder.name for folder in folders} - rooms - others == set()
    assert {folder.parent.name for folder in folders} == {"tests"}


def test_import_contracts_hold() -> None:
    command = "from importlinter.cli import lint_imports_command as check; check(['--no-logo', '--no-cache'])"
    done = subprocess.run(
        (sys.executable, "-c", command), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def dotted(path: Path) -> str:
    """Return the name by which a module of `engram` or `engram_tui` is imported."""
    folder = ROOT / "tui" if path.is_relative_to(ROOT / "tui") else ROOT
    return ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")


def imports(text: str, known: Container[str]) -> Iterator[str]:
    """Return the modules among `known` that a text imports: at the top, in a function, or for types only."""
    waiting: list[ast.AST] = [ast.parse(text)]
    for node in waiting:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else node.module for name in inside)
        for blocks in ("body", "orelse", "finalbody", "handlers", "cases"):  # imports are statements
            waiting += getattr(node, blocks, ())


def circles(sources: Mapping[str, str]) -> list[list[str]]:
    """Return the groups of modules that import one another in a cycle; `sources` has their texts by name."""
    graph: rustworkx.PyDiGraph[str, None] = rustworkx.PyDiGraph()
    places = {name: graph.add_node(name) for name in sources}
    for name, text in sources.items():
        wanted = {other for other in imports(text, places) if other != name}
        graph.add_edges_from([(places[name], places[other], None) for other in wanted])
    groups = rustworkx.strongly_connected_components(graph)
    return sorted(sorted(graph[place] for place in group) for group in groups if len(group) > 1)


def test_import_cycles_are_found_wherever_the_import_is() -> None:
    lazy = "def work():\n    from engram import b\n"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from engram.c import C\n"
    sources = {
        "engram.a": lazy,
        "engram.b": typed,
        "engram.c": "import engram.a",
        "engram.d": "import engram.a",
    }
    assert circles({"engram": "", **sources}) == [["engram.a", "engram.b", "engram.c"]]


def test_there_are_no_import_cycles() -> None:
    ours = [path for path in MODULES if path.relative_to(ROOT).parts[0] in ("engram", "tui")]
    assert circles({dotted(path): path.read_text("utf-8") for path in ours}) == []


def test_every_package_is_in_the_import_contracts() -> None:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    contracts = {contract["type"]: contract for contract in reversed(configuration["contracts"])}
    layers = {name.strip() for layer in contracts["layers"]["layers"] for name in layer.split("|")}
    packages = {path.parent for path in MODULES if path.parent.parent == ROOT / "engram"}
    assert {f"engram.{path.name}" for path in packages} <= layers
    adapters = {path.parent for path in MODULES if path.parent.parent == ROOT / "engram/adapters"}
    assert {f"engram.adapters.{path.name}" for path in adapters} == set(contracts["independence"]["modules"])


def test_code_folders_are_packages() -> None:
    folders = {path.parent for path in MODULES if path.relative_to(ROOT).parts[0] in ("engram", "tui")}
    assert names([folder for folder in folders if not (folder / "__init__.py").exists()]) == []


# Written so that no pattern matches itself here.
FOREIGN = {
    "a home folder": r"/(?:home|Users)/[a-z]|/roo[t]/|[A-Z]:\\Users\\",
    "a package registry's host": r"python[h]osted|py[p]i\.org|npm[j]s\.|debian\.o[r]g",
}


@pytest.mark.parametrize("what", FOREIGN)
def test_no_file_contains(what: str) -> None:
    found = []
    for path in FILES:
        content = path.read_bytes()
        if b"\0" not in content and path.relative_to(ROOT).parts[:3] != ("tests", "data", "corpus"):
            lines = content.decode("utf-8").splitlines()
            hits = [number for number, line in enumerate(lines, 1) if re.search(FOREIGN[what], line)]
            found += [f"{path.relative_to(ROOT).as_posix()}:{number}" for number in hits]
    assert found == []


@pytest.mark.parametrize("script", names(SCRIPTS))
def test_script_runs_and_is_valid_bash(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK), f"chmod +x {script}"
    subprocess.run(("bash", "-n", script), cwd=ROOT, check=True)
    assert "\r" not in (ROOT / script).read_text("utf-8")


def test_ci_runs_what_everyone_runs() -> None:
    script = (ROOT / ".ci/run").read_text("utf-8")
    assert "./test" in script
    assert [name for name in re.findall(r"tests/[\w/]+\.py", script) if not (ROOT / name).is_file()] == []
    assert ".ci/run" in (ROOT / ".github/workflows/tests.yml").read_text("utf-8")
