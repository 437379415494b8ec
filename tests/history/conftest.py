"""The store that the tests of an entry's history begin with: a copy of one that is made once."""

from __future__ import annotations

from pathlib import Path

import prepared
import pytest
from apikit import git

from tests.history.history_kit import make_history


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A dedicated store with one entry: recorded by ada, judged by bob, edited by eve, moved by hand."""
    prepared.copy("an entry with a history", tmp_path, make_history)
    git(tmp_path / "store", "update-index", "--refresh")
    return tmp_path / "store"
