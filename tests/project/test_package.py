"""The wheel contains all that Engram needs offline, and no development files."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
import zipfile
from email.parser import HeaderParser
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel with hatch."""
    builder = importlib.import_module("hatchling.build")
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return zipfile.ZipFile(folder / builder.build_wheel(str(folder)))


def test_the_wheel_has_both_packages_the_model_and_the_licences(wheel: zipfile.ZipFile) -> None:
    members = set(wheel.namelist())
    assert {
        "engram/__init__.py",
        "engram_tui/__init__.py",
        "engram/py.typed",
        "engram_tui/py.typed",
    } <= members
    bundled = [path for path in (ROOT / "engram/adapters/embed/bundled").rglob("*") if path.is_file()]
    assert any(path.suffix == ".safetensors" for path in bundled)
    assert {
        path.relative_to(ROOT).as_posix() for path in bundled if "__pycache__" not in path.parts
    } <= members
    assert {Path(member).name for member in members if "/licenses/" in member} == {
        "LICENSE",
        "NOTICE",
        "Apache-2.0.txt",
    }


def test_the_wheel_has_every_style_sheet_of_the_app(wheel: zipfile.ZipFile) -> None:
    sheets = {path.relative_to(ROOT / "tui").as_posix() for path in (ROOT / "tui").rglob("*.tcss")}
    assert sheets <= set(wheel.namelist())


def test_the_wheel_has_no_other_files(wheel: zipfile.ZipFile) -> None:
    tops = {member.split("/")[0] for member in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"engram", "engram_tui"}


def test_the_wheel_declares_the_version_and_the_command(wheel: zipfile.ZipFile) -> None:
    version = re.search(r'__version__ = "(.+)"', (ROOT / "engram/version.py").read_text("utf-8"))
    folder = next(name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name)
    metadata = HeaderParser().parsestr(wheel.read(f"{folder}/METADATA").decode())
    assert version is not None
    assert (metadata["Name"], metadata["Version"]) == ("engram-lore", version[1])
    assert "engram = engram.cli.main:run" in wheel.read(f"{folder}/entry_points.txt").decode()


def test_every_link_on_the_package_index_page_is_absolute(wheel: zipfile.ZipFile) -> None:
    metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    page = HeaderParser().parsestr(wheel.read(metadata).decode()).get_payload()
    links = re.findall(r"\]\(([^)]+)\)", str(page))
    assert len(links) > 15
    assert [link for link in links if not link.startswith("https://")] == []


def test_the_wheel_is_no_larger_than_ten_megabytes(wheel: zipfile.ZipFile) -> None:
    assert sum(member.compress_size for member in wheel.infolist()) < 10_000_000


@pytest.mark.parametrize("target", sorted(set(PROJECT["scripts"].values())))
def test_every_installed_command_has_an_entry_point(target: str) -> None:
    module, function = target.split(":")
    assert callable(getattr(importlib.import_module(module), function))


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line.split(" ;")[0].split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pins}


EXTRAS = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]


@pytest.mark.parametrize(
    "requirement", [Requirement(line) for line in PROJECT["dependencies"] + EXTRAS], ids=str
)
def test_constraints_pin_a_version_that_the_project_accepts(requirement: Requirement) -> None:
    """Else: python3.11 tools/update_constraints.py."""
    version = pinned().get(canonicalize_name(requirement.name))
    assert version is not None
    assert requirement.specifier.contains(version)


RUNNING = [
    Requirement(line)
    for extra in ("http", "onnx", "web")
    for line in PROJECT["dependencies"] + PROJECT["optional-dependencies"][extra]
]


class _Imports(ast.NodeVisitor):
    """Return the top-level names of all modules imported at run time, also inside functions."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        checked = node.body if "TYPE_CHECKING" not in ast.unparse(node.test) else []  # for type checkers only
        for one in [*checked, *node.orelse]:
            self.visit(one)

    def visit_Import(self, node: ast.Import) -> None:
        self.found |= {alias.name.partition(".")[0] for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.found |= {(node.module or "").partition(".")[0]}


@cache
def imported() -> set[str]:
    visitor = _Imports()
    for package in ("engram", "tui/engram_tui"):
        for path in (ROOT / package).rglob("*.py"):
            visitor.visit(ast.parse(path.read_bytes()))
    return visitor.found


@cache
def modules() -> dict[str, set[str]]:
    """Return the importable names of each installed distribution."""
    found: dict[str, set[str]] = {}
    for module, names in packages_distributions().items():
        for name in names:
            found.setdefault(canonicalize_name(name), set()).add(module)
    return found


@pytest.mark.parametrize("name", sorted({requirement.name for requirement in RUNNING}))
def test_every_declared_dependency_is_imported_by_the_program(name: str) -> None:
    """The extras `dev` and `train` are for tests and tools, not for the program."""
    assert modules()[canonicalize_name(name)] & imported()


def test_tested_pythons_are_the_declared_ones() -> None:
    workflow = (ROOT / ".github/workflows/tests.yml").read_text("utf-8")
    tested = re.findall(r'"(3\.\d+)"', next(line for line in workflow.splitlines() if "python: [" in line))
    declared = [
        words[-1] for words in (line.split(" :: ") for line in PROJECT["classifiers"]) if "." in words[-1]
    ]
    assert tested == declared
    assert PROJECT["requires-python"] == f">={declared[0]}"
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in declared
