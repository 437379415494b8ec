"""Versions of dependencies are read from every kind of manifest and lock file; broken ones are ignored."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.review.manifests import is_lock, is_manifest, versions

PYPROJECT = """
[project]
requires-python = ">=3.11"
dependencies = ["asyncpg[sasl] >=0.30 ; python_version > '3'", "httpx"]
[project.optional-dependencies]
web = ["Starlette==0.40"]
[dependency-groups]
dev = ["pytest<9", {include-group = "web"}]
[tool.poetry.dependencies]
redis = {version = "^5", extras = ["hiredis"]}
"""
PACKAGE = {
    "devDependencies": {"vite": "^5"},
    "dependencies": {"@types/node": "1.2"},
    "engines": {"node": ">=22"},
}
LOCK = {
    "packages": {
        "": {"version": "0"},
        "node_modules/a": {"version": "1"},
        "node_modules/a/node_modules/b": {"version": "2"},
    }
}
CARGO = '[package]\nrust-version = "1.80"\n[dependencies]\nserde = "1"\n[workspace.dependencies]\ntokio = {version = "1.40"}\n'
GO = "module a\ngo 1.22\nrequire (\n\tgithub.com/spf13/cobra v1.2.0 // x\n)\nrequire golang.org/x/net v0.3\n"


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a/pyproject.toml", PYPROJECT,
         {"python": ">=3.11", "asyncpg": ">=0.30", "starlette": "==0.40", "pytest": "<9", "redis": "^5"}),
        ("requirements-dev.txt", "flask==3.0 # web\n# no\n-r more.txt\njinja2\n", {"flask": "==3.0"}),
        ("uv.lock", 'requires-python = ">=3.12"\n[[package]]\nname = "My.Pkg"\nversion = "2.1"\n',
         {"python": ">=3.12", "my-pkg": "2.1"}),
        ("package.json", json.dumps(PACKAGE), {"vite": "^5", "@types/node": "1.2", "node": ">=22"}),
        ("package-lock.json", json.dumps(LOCK), {"a": "1"}),
        ("Cargo.toml", CARGO, {"rust": "1.80", "serde": "1", "tokio": "1.40"}),
        ("go.mod", GO,
         {"go": "1.22", "cobra": "1.2.0", "github-com/spf13/cobra": "1.2.0", "net": "0.3", "golang-org/x/net": "0.3"}),
    ],
)  # fmt: skip
def test_versions_in_a_manifest_are_found_by_normalized_names(
    path: str, text: str, found: dict[str, str]
) -> None:
    assert is_manifest(path)
    assert versions(path, text) == found


def test_manifests_and_lock_files_are_recognised_by_name() -> None:
    names = (
        "x/requirements.txt",
        "requirements-dev.txt",
        "Cargo.toml",
        "Cargo.lock",
        "setup.py",
        "x/cargo.toml",
    )
    assert [is_manifest(name) for name in names] == [True, True, True, True, False, False]
    assert [is_lock(name) for name in names] == [False, False, False, True, False, False]


def test_versions_read_before_a_parse_error_are_kept() -> None:
    text = '{"dependencies": {"vite": "^5"}, "engines": ["node"]}'
    assert versions("package.json", text) == {"vite": "^5"}
    assert versions("package.json", "[" * 100_000) == {}


@pytest.mark.parametrize("name", ["pyproject.toml", "uv.lock", "package.json", "package-lock.json", "go.mod"])
@given(text=st.text(max_size=80) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_reading_a_manifest_never_raises(name: str, text: str) -> None:
    assert isinstance(versions(name, text), dict)
