"""A release needs a tag, a version and a changelog that agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = """# Changelog

## Unreleased

- Not yet.

## 1.2.0 (2026-03-01)

- Faster.

## 1.2

- Older.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project at version 1.2.0 with the real tool."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "engram").mkdir()
    (tmp_path / "tools/release_notes.py").write_bytes((ROOT / "tools/release_notes.py").read_bytes())
    (tmp_path / "engram/version.py").write_text('__version__ = "1.2.0"\n', "utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    return tmp_path


def notes(project: Path, tag: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, str(project / "tools/release_notes.py"), tag)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_notes_are_the_section_of_the_tagged_version(project: Path) -> None:
    assert notes(project, "v1.2.0").stdout == "- Faster.\n"


@pytest.mark.parametrize("tag", ["v1.2", "1.2.0", "v1.3.0", ""])
def test_a_tag_that_is_not_the_version_is_refused(project: Path, tag: str) -> None:
    done = notes(project, tag)
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not fit engram/version.py (1.2.0)" in done.stderr


def test_a_version_without_a_section_is_refused(project: Path) -> None:
    (project / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n", "utf-8")
    done = notes(project, "v1.2.0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no section" in done.stderr


def test_the_changelog_has_a_section_for_unreleased_changes() -> None:
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
