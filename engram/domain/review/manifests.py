"""Versions of dependencies in manifests and lock files: pyproject.toml, uv.lock, package.json and others.

Malformed files never raise; what cannot be parsed is skipped.
"""

from __future__ import annotations

import json
import re

from engram.domain.review.anchors import plain_name
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Found = Iterator[tuple[str, str]]

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*((?:===?|>=|<=|~=|!=|<|>)[^;#]*)?")
_GO = re.compile(r"^\s*(?:require\s+)?([\w.-]+(?:/[\w.~-]+)+)\s+v(\S+)", re.MULTILINE)
_GO_ITSELF = re.compile(r"^go\s+(\d\S*)", re.MULTILINE)
_LOCKS = ("uv.lock", "poetry.lock", "package-lock.json", "Cargo.lock")


def is_manifest(path: str) -> bool:
    """Whether a path is that of a supported manifest or lock file."""
    name = path.rpartition("/")[2]
    return name in _READERS or bool(re.fullmatch(r"requirements[\w.-]*\.txt", name))


def is_lock(path: str) -> bool:
    """Whether a file has the locked versions rather than the allowed ranges."""
    return path.rpartition("/")[2] in _LOCKS


def versions(path: str, text: str) -> dict[str, str]:
    """Return the versions in a manifest or lock file by plain name; of several the last one."""
    reader = _READERS.get(path.rpartition("/")[2], _requirements)
    found: dict[str, str] = {}
    try:
        for name, version in reader(text):
            if name and version:
                found[plain_name(name)] = version
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        pass  # keep what was read up to the error
    return found


def _toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def _pyproject(text: str) -> Found:
    data = _toml(text)
    project = data.get("project", {})
    yield "python", project.get("requires-python", "")
    listed = list(project.get("dependencies", []))
    for group in (
        *project.get("optional-dependencies", {}).values(),
        *data.get("dependency-groups", {}).values(),
    ):
        listed += [one for one in group if isinstance(one, str)]
    for requirement in listed:
        yield from _requirements(requirement)
    poetry = data.get("tool", {}).get("poetry", {})
    yield from _table(poetry.get("dependencies", {}))


def _table(table: Mapping[str, Any]) -> Found:
    """Read `name = "1.2"` or `name = {version = "1.2"}`."""
    for name, value in table.items():
        version = value.get("version", "") if isinstance(value, dict) else value
        if isinstance(version, str):
            yield name, version


def _toml_lock(text: str) -> Found:
    data = _toml(text)
    yield "python", data.get("requires-python", "")
    for package in data.get("package", []):
        yield package.get("name", ""), package.get("version", "")


def _requirements(text: str) -> Found:
    for line in text.splitlines():
        match = _REQUIREMENT.match(line)
        if match and match[2]:
            yield match[1], match[2].strip()


def _package_json(text: str) -> Found:
    data = json.loads(text)
    for table in ("peerDependencies", "optionalDependencies", "devDependencies", "dependencies", "engines"):
        yield from _table(data.get(table, {}))


def _package_lock(text: str) -> Found:
    data = json.loads(text)
    yield from _table(data.get("dependencies", {}))
    for path, package in data.get("packages", {}).items():
        if path.count("node_modules/") == 1:
            yield path.partition("node_modules/")[2], package.get("version", "")


def _cargo(text: str) -> Found:
    data = _toml(text)
    package = data.get("package", {}) or data.get("workspace", {}).get("package", {})
    yield "rust", package.get("rust-version", "")
    for table in (data, data.get("workspace", {})):
        for kind in ("build-dependencies", "dev-dependencies", "dependencies"):
            yield from _table(table.get(kind, {}))


def _go(text: str) -> Found:
    for version in _GO_ITSELF.findall(text)[:1]:
        yield "go", version
    for path, version in _GO.findall(text):
        yield path.rpartition("/")[2], version
        yield path, version


_READERS: Mapping[str, Callable[[str], Found]] = {
    "pyproject.toml": _pyproject,
    "uv.lock": _toml_lock,
    "poetry.lock": _toml_lock,
    "requirements.txt": _requirements,
    "package.json": _package_json,
    "package-lock.json": _package_lock,
    "Cargo.toml": _cargo,
    "Cargo.lock": _toml_lock,
    "go.mod": _go,
}
