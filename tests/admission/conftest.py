"""The clones that tests of quarantine begin with: copies of two that are made once for a module."""

from __future__ import annotations

from pathlib import Path

import pytest
from malicious_kit import copy_clones
from sync_kit import Clones


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trust") / "template"
    made = Clones(folder)
    made.record("a")
    made.settle()
    for name in "ab":
        made[name].close()
    return folder


@pytest.fixture
def clones(template: Path, tmp_path: Path) -> Clones:
    """Two clones in step; `a` is the one with settings, `b` is somebody else."""
    found = copy_clones(template, tmp_path)
    found["a"].close()
    return found
